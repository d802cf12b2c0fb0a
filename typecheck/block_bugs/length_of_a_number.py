"""The length of a number is asked for."""

import wengert.fold as td

# bug: block = td.Scalar() >> td.Length()
block = td.Map(td.Scalar()) >> td.Length()
print(block.output_type)
