"""The one-hot vector of a word is looked up in a table.

Source: written for this table.
"""

import wengert.fold as td

# bug: block = td.OneHot(10) >> td.Embedding(10, 4, seed=0)
block = td.Scalar("int32") >> td.Embedding(10, 4, seed=0)
print(block.output_type)
