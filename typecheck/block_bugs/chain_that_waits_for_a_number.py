"""A chain of two layers with a name reads a number."""

import wengert.fold as td

net = td.FC(3) >> td.FC(4)
# bug: block = td.Scalar() >> net
block = td.Vector(2) >> net
print(block.output_type)
