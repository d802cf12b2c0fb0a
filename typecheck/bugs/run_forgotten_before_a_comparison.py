"""A prediction that has not run is compared with a number.

Source: written for this table.
"""

import wengert as wg

score = wg.tanh(wg.lift(2.0))
# bug: if score.predict() > 0.5:
if score.predict().run() > 0.5:
    print("yes")
