"""A function of the step is given where a number is wanted.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD


def schedule(step: int) -> float:
    return 0.1 / (1 + step)


# bug: settings = SGD(learning_rate=schedule)
settings = SGD(learning_rate=schedule(0))
print(wg.square(settings.double_weight(2.0)).train().run())
