"""What keeps the numbers of a list is a layer of vectors."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.Filter(td.FC(1))
block = td.Map(td.Scalar()) >> td.Filter(td.Identity())
print(block.output_type)
