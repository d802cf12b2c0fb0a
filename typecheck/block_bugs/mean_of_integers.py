"""The mean of integers is asked for."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar("int32")) >> td.Mean()
block = td.Map(td.Scalar()) >> td.Mean()
print(block.output_type)
