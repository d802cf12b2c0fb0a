"""Two layers of one input have two widths, and `add` takes both."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Vector(2) >> td.AllOf(td.FC(3), td.FC(4)) >> td.Function(wg.add)
block = td.Vector(2) >> td.AllOf(td.FC(3), td.FC(3)) >> td.Function(wg.add)
print(block.output_type)
