"""A dict of blocks reads a tuple, and has no order."""

import wengert.fold as td

# bug: block = (td.Scalar(), td.Scalar()) >> td.Record({"a": td.Identity(), "b": td.Identity()})
block = (td.Scalar(), td.Scalar()) >> td.Record((td.Identity(), td.Identity()))
print(block.output_type)
