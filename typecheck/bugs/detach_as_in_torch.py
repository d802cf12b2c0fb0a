"""loss.detach().numpy() as in PyTorch.

Source: written for this table.
"""

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).double_weight(3.0)
# bug: target = wg.tanh(w).detach()
target = wg.stop_gradient(wg.tanh(w))
print(wg.square(w - target).train().run())
