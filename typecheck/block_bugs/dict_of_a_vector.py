"""The parts of a vector are read by name."""

import wengert.fold as td

# bug: block = td.Vector(2) >> td.Record({"a": td.Scalar()})
block = td.Record({"a": td.Scalar()})
print(block.output_type)
