"""images.view(-1, 784) as in PyTorch.

Source: written for this table.
"""

import numpy as np

import wengert as wg

images = wg.literal(np.ones((4, 28, 28), np.float32), 4, 28, 28)
# bug: features = images.view(-1, 784)
features = wg.reshape(images, (-1, 784))
print(features.shape)
