"""A layer reads what a metric leaves, which is nothing."""

import wengert.fold as td

# bug: block = td.Vector(2) >> td.FC(3) >> td.Metric("x") >> td.FC(2)
block = td.Vector(2) >> td.AllOf(td.Metric("x"), td.FC(3)) >> td.GetItem(1) >> td.FC(2)
print(block.output_type)
