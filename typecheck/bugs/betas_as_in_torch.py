"""Both rates of Adam are given as a pair, as in PyTorch.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


# bug: settings = Settings(learning_rate=1e-3, betas=(0.9, 0.98))
settings = Settings(learning_rate=1e-3, beta1=0.9, beta2=0.98)
print(wg.square(settings.double_weight(2.0)).train().run())
