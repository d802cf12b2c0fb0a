"""The third part is asked of a pair."""

import wengert.fold as td

# bug: block = (td.Scalar(), td.Scalar()) >> td.GetItem(2)
block = (td.Scalar(), td.Scalar()) >> td.GetItem(1)
print(block.output_type)
