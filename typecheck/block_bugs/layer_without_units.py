"""A layer has no unit."""

import wengert.fold as td

# bug: block = td.Vector(2) >> td.FC(0)
block = td.Vector(2) >> td.FC(1)
print(block.output_type)
