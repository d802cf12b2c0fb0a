"""A list is joined, where a tuple is meant."""

import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.Concat()
block = td.Map(td.Vector(2)) >> td.Sum()
print(block.output_type)
