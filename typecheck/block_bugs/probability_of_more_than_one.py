"""A layer keeps its numbers with a probability of two."""

import wengert.fold as td

# bug: block = td.Vector(2) >> td.FC(3, input_keep_prob=2.0)
block = td.Vector(2) >> td.FC(3, input_keep_prob=0.5)
print(block.output_type)
