"""The rate of dropout was drawn from a range for something else.

Source: wallarm/nascell-automl#10, cnn_dropout_rates > 1?.
"""

import numpy as np

import wengert as wg
from wengert.nn import Dropout

x = wg.literal(np.ones((2, 3), np.float32), 2, 3)
# bug: drop = Dropout(2.5)
drop = Dropout(0.25)
print(drop(x, seed=1).predict().run().shape)
