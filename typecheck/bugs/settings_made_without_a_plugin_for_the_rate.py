"""Settings are put together of an optimizer alone, and told a rate.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD, Adam, LearningRate

settings = SGD(learning_rate=0.1)


# bug: class Settings(Adam): ...
class Settings(Adam, LearningRate): ...


made = Settings(learning_rate=1e-3)  # shows
print(wg.square(made.double_weight(2.0)).train().run(), settings.learning_rate, np.pi)
