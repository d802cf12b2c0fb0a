"""Momentum is set, and its plugin is not in the list.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import LearningRate, Momentum, Names


# bug: class Settings(Names, LearningRate):
class Settings(Momentum, Names, LearningRate):
    """Descent with a memory."""


settings = Settings(learning_rate=0.1, momentum=0.9)  # shows
print(wg.square(settings.double_weight(2.0)).train().run())
