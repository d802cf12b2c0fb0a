"""A fully connected layer reads a sum of numbers."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.Sum() >> td.FC(2)
block = td.Map(td.Vector(3)) >> td.Sum() >> td.FC(2)
print(block.output_type)
