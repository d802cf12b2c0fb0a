"""One case of a choice gives a number, the other a vector."""

import wengert.fold as td

# bug: block = td.OneOf(len, {1: td.Vector(2), 2: td.Scalar()})
block = td.OneOf(len, {1: td.Vector(2), 2: td.Vector(2)})
print(block.output_type)
