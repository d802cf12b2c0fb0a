"""The backward of a tape does its work at once and returns nothing.

Source: written for this table.
"""

from fractions import Fraction

import wengert as wg


@wg.register(Fraction)
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    # bug: return wg.Do.now(wg.Tape(float(x), lambda delta: None))
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


print(fraction(Fraction(1, 2)).predict().run())
