"""A moving average that takes nothing of what is new: the correction divides by zero.

Source: pytorch/pytorch#5147, Added check and test for betas parameter in Adam optimizer.
"""

import wengert as wg
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


# bug: settings = Settings(learning_rate=1e-3, beta1=1.0)
settings = Settings(learning_rate=1e-3, beta1=0.9)
print(wg.square(settings.double_weight(2.0)).train().run())
