"""A constant is an int, whose dtype would be a guess."""

import wengert.fold as td

# bug: block = td.FromTensor(42)
block = td.FromTensor(42.0)
print(block.output_type)
