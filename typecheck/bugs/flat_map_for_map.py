"""flat_map is given a function that makes a number.

Source: written for this table.
"""

import math

import wengert as wg

# bug: root = wg.lift(4.0).predict().flat_map(math.sqrt)
root = wg.lift(4.0).predict().map(math.sqrt)
print(root.run())
