"""An operation of two reads three numbers."""

import wengert as wg
import wengert.fold as td

# bug: block = (td.Scalar(), td.Scalar(), td.Scalar()) >> td.Function(wg.add)
block = (td.Scalar(), td.Scalar(), td.Scalar()) >> td.Function(lambda x, y, z: wg.add(x, y))
print(block.output_type)
