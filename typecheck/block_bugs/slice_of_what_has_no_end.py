"""A part is taken of what is repeated without an end."""

import wengert.fold as td

# bug: block = td.Scalar() >> td.Broadcast() >> td.Slice(stop=3)
block = td.Map(td.Scalar()) >> td.Slice(stop=3)
print(block.output_type)
