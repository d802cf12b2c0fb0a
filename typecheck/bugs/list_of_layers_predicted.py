"""Several layers are predicted as a list.

Source: written for this table.
"""

import wengert as wg

a, b = wg.lift(1.0), wg.lift(2.0)
# bug: print(wg.predict([a, b]).run())
print(wg.predict((a, b)).run())
