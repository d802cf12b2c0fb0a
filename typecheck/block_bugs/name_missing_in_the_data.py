"""The data lack a name that the record reads."""

import wengert.fold as td

block = td.Record({"a": td.Scalar(), "b": td.Scalar()}) >> td.Concat()
# bug: data = block.eval({"a": 1})
data = block.eval({"a": 1, "b": 2})
print(data)
