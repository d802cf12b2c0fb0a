"""A list is zipped with a number that is not repeated."""

import wengert.fold as td

# bug: block = (td.Map(td.Scalar()), td.Scalar()) >> td.Zip()
block = (td.Map(td.Scalar()), td.Scalar() >> td.Broadcast()) >> td.Zip()
print(block.output_type)
