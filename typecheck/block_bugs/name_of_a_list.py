"""A name is asked of a list of numbers."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.GetItem("x")
block = td.Map(td.Scalar()) >> td.GetItem(0)
print(block.output_type)
