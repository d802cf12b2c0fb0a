"""The cell of a chain gives a number for the next state."""

import wengert as wg
import wengert.fold as td

# bug: block = td.Map(td.Vector(2)) >> td.RNN(td.Function(lambda x, s: (x, wg.sum(s))), td.Zeros(2))
block = td.Map(td.Vector(2)) >> td.RNN(td.Function(lambda x, s: (wg.sum(x), s)), td.Zeros(2))
print(block.output_type)
