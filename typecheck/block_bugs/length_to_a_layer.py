"""A fully connected layer reads the length of a list."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.Length() >> td.FC(2)
block = (td.Length(), td.Length()) >> td.Concat() >> td.FC(2)
print(block.output_type)
