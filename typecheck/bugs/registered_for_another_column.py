"""A type that is registered as a double meets float weights.

Source: written for this table.
"""

from fractions import Fraction

import wengert as wg
from wengert.plugins import SGD


@wg.register(Fraction)
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


settings = SGD(learning_rate=0.1)
# bug: w = settings.float_weight(2.0)
w = settings.double_weight(2.0)
print(wg.square(w * fraction(Fraction(1, 2))).train().run())  # shows
