"""The registered function returns a value, and not the description of a tape.

Source: written for this table.
"""

from fractions import Fraction

import wengert as wg


@wg.register(Fraction)  # shows
# bug: def fraction(x: Fraction) -> wg.Tape[float, float]:
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    # bug: return wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None))
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


print(fraction(Fraction(1, 2)).predict().run())
