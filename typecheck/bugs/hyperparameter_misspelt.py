"""The learning rate is called lr, as in PyTorch.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

# bug: settings = SGD(lr=0.1)
settings = SGD(learning_rate=0.1)
print(wg.square(settings.double_weight(2.0)).train().run())
