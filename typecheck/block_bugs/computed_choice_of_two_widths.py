"""The cases of a computed choice have two widths."""

import wengert.fold as td

# bug: block = td.Vector(2) >> td.Switch(td.FC(2), (td.FC(2), td.FC(3)))
block = td.Vector(2) >> td.Switch(td.FC(2), (td.FC(3), td.FC(3)))
print(block.output_type)
