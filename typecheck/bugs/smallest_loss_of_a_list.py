"""The best of several layers is chosen with Python's min, before they have values.

Source: written for this table.
"""

import wengert as wg

candidates = [wg.square(wg.lift(x)) for x in (3.0, 1.0, 2.0)]
# bug: best = min(candidates)
best = min(candidate.predict().run() for candidate in candidates)
print(best)
