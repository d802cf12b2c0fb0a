"""A reduction joins its elements, so that they have two sizes."""

import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.Reduce(td.Concat())
block = td.Map(td.Vector(2)) >> td.Reduce(td.Concat() >> td.FC(2))
print(block.output_type)
