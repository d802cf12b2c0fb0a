"""The cases of a choice give vectors of two sizes."""

import wengert.fold as td

# bug: block = td.OneOf(len, {1: td.Vector(2), 2: td.Vector(3)})
block = td.OneOf(len, {1: td.Vector(2), 2: td.Vector(2)})
print(block.output_type)
