"""Three blocks read the two parts of a pair."""

import wengert.fold as td

# bug: block = td.Record((td.Scalar(), td.Scalar())) >> (td.Identity(), td.Identity(), td.Identity())
block = td.Record((td.Scalar(), td.Scalar())) >> (td.Identity(), td.Identity())
print(block.output_type)
