"""The learning rate is the text that was typed.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

given = ["--rate", "0.05"]
# bug: settings = SGD(learning_rate=given[1])
settings = SGD(learning_rate=float(given[1]))
print(wg.square(settings.double_weight(2.0)).train().run())
