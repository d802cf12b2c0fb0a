"""The learning rate is left out, as if it had a default.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import Adam, LearningRate


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


# bug: settings = Settings()
settings = Settings(learning_rate=1e-3)
print(wg.square(settings.double_weight(2.0)).train().run())
