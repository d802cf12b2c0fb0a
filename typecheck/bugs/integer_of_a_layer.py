"""The count that a layer gives is made an integer while the model builds.

Source: jax-ml/jax#17650, Better errors for array conversion to bool, int, float.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)

count = wg.sum(settings.array_weight(np.ones(3, np.float32), 3))
# bug: print(list(range(int(count))))
print(list(range(int(count.predict().run()))))
