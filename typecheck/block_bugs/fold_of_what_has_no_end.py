"""A fold goes through what is repeated without an end."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Scalar() >> td.Broadcast() >> td.Fold(td.Function(wg.add), 0.0)
block = td.Map(td.Scalar()) >> td.Fold(td.Function(wg.add), 0.0)
print(block.output_type)
