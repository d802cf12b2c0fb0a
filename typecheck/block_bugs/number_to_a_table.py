"""A table reads a floating number."""

import wengert.fold as td

# bug: block = td.Scalar() >> td.Embedding(3, 2)
block = td.Scalar("int32") >> td.Embedding(3, 2)
print(block.output_type)
