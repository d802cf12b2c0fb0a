"""A name is asked of the tuple that a record gives."""

import wengert.fold as td

# bug: block = td.Record({"a": td.Scalar()}) >> td.GetItem("a")
block = td.Record({"a": td.Scalar()}) >> td.GetItem(0)
print(block.output_type)
