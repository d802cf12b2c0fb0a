"""A dict on the left of >> has vectors of two sizes."""

import wengert as wg
import wengert.fold as td

# bug: block = {"a": td.Vector(2), "b": td.Vector(3)} >> td.Function(wg.multiply)
block = {"a": td.Vector(2), "b": td.Vector(2)} >> td.Function(wg.multiply)
print(block.output_type)
