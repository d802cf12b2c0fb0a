"""A number is stacked."""

import wengert.fold as td

# bug: block = td.Scalar() >> td.Stack()
block = td.Map(td.Scalar()) >> td.Stack()
print(block.output_type)
