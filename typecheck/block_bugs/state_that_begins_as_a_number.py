"""A fold of vectors begins with a number."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.Fold(td.Function(wg.add), 0.0)
block = td.Map(td.Vector(2)) >> td.Fold(td.Function(wg.add), td.Zeros(2))
print(block.output_type)
