"""The vectors under two names have two sizes, and `subtract` takes both."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Record({"a": td.Vector(2), "b": td.Vector(3)}) >> td.Function(wg.subtract)
block = td.Record({"a": td.Vector(2), "b": td.Vector(2)}) >> td.Function(wg.subtract)
print(block.output_type)
