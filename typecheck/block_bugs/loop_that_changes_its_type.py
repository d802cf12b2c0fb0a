"""The body of a loop gives another width than it takes."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Vector(2) >> td.Loop(td.FC(3), td.Function(wg.sum))
block = td.Vector(2) >> td.Loop(td.FC(2), td.Function(wg.sum))
print(block.output_type)
