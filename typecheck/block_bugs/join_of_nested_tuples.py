"""Tuples inside of a tuple are joined without `flatten`."""

import wengert.fold as td

# bug: block = (td.Scalar(), (td.Scalar(), td.Scalar())) >> td.Concat()
block = (td.Scalar(), (td.Scalar(), td.Scalar())) >> td.Concat(flatten=True)
print(block.output_type)
