"""Numbers of two dtypes are joined."""

import wengert.fold as td

# bug: block = (td.Scalar(), td.Scalar("float64")) >> td.Concat()
block = (td.Scalar(), td.Scalar()) >> td.Concat()
print(block.output_type)
