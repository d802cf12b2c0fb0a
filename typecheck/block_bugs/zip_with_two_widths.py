"""Two lists of vectors of two sizes are added by pairs."""

import wengert as wg
import wengert.fold as td

# bug: block = (td.Map(td.Vector(2)), td.Map(td.Vector(3))) >> td.ZipWith(td.Function(wg.add))
block = (td.Map(td.Vector(2)), td.Map(td.Vector(2))) >> td.ZipWith(td.Function(wg.add))
print(block.output_type)
