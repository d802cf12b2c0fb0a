"""Each number of a list enters a fully connected layer."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.Map(td.FC(2))
block = td.Map(td.Vector(1)) >> td.Map(td.FC(2))
print(block.output_type)
