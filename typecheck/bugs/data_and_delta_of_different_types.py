"""A tape of a double says that its deltas are float32.

Source: written for this table.
"""

from fractions import Fraction

import numpy as np

import wengert as wg


@wg.register(Fraction)
# bug: def fraction(x: Fraction) -> wg.Do[wg.Tape[float, np.float32]]:
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


grown = wg.exp(fraction(Fraction(1, 2)))  # shows
print(grown.predict().run(), np.float32(0.5))
