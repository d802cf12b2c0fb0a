"""The default of a reduction has another size than the elements."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.Reduce(td.Function(wg.add), td.Zeros(3))
block = td.Map(td.Vector(2)) >> td.Reduce(td.Function(wg.add), td.Zeros(2))
print(block.output_type)
