"""The layer of a fold has another width than the state."""

import wengert.fold as td

# bug: block = td.Map(td.Scalar()) >> td.Fold(td.Concat() >> td.FC(5), td.Zeros(4))
block = td.Map(td.Scalar()) >> td.Fold(td.Concat() >> td.FC(4), td.Zeros(4))
print(block.output_type)
