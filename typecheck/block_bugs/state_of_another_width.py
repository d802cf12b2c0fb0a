"""A fold adds vectors of two numbers to a state of three."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.Fold(td.Function(wg.add), td.Zeros(3))
block = td.Map(td.Vector(2)) >> td.Fold(td.Function(wg.add), td.Zeros(2))
print(block.output_type)
