"""An operation of two reads one number."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Scalar() >> td.Function(wg.add)
block = (td.Scalar(), td.Scalar()) >> td.Function(wg.add)
print(block.output_type)
