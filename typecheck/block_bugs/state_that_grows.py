"""The state of a fold is joined with each element and gets longer."""

import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.Fold(td.Concat(), td.Zeros(3))
block = td.Map(td.Vector(2)) >> td.Fold(td.Concat() >> td.FC(3), td.Zeros(3))
print(block.output_type)
