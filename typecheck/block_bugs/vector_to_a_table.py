"""A table reads a basis vector and not the place of its one."""

import wengert.fold as td

# bug: block = td.OneHot(3) >> td.Embedding(3, 2)
block = td.OneHot(3) >> td.FC(2)
print(block.output_type)
