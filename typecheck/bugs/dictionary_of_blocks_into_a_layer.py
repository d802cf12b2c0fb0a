"""All fields of a record go into a layer, which takes one vector.

Source: written for this table.
"""

import wengert.fold as td

record = td.Record([("age", td.Vector(1)), ("place", td.Vector(3))])
# bug: block = record >> td.FC(2, seed=0)
block = record >> td.Concat() >> td.FC(2, seed=0)
print(block.output_type)
