"""A function of three reads windows of two."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.NGrams(2) >> td.Map(td.Function(lambda x, y, z: x + y + z))
block = td.Map(td.Scalar()) >> td.NGrams(3) >> td.Map(td.Function(lambda x, y, z: x + y + z))
print(block.output_type)
