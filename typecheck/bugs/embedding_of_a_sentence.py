"""A block for one word is given what a block for a list of words gives.

Source: written for this table.
"""

import wengert.fold as td

words = td.Map(td.Scalar("int32"))
# bug: sentence = words >> td.Embedding(10, 4, seed=0) >> td.Mean()
sentence = words >> td.Map(td.Embedding(10, 4, seed=0)) >> td.Mean()
print(sentence.output_type)
