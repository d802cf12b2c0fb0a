"""Images are bytes and go into a layer without a conversion.

Source: written for this table.
"""

import numpy as np

import wengert as wg
from wengert.plugins import SGD

w = SGD(learning_rate=0.1).array_weight(np.ones((64, 10), np.float32), 64, 10, name="w")
images = np.random.default_rng(0).integers(0, 256, (32, 64), dtype=np.uint8)

# bug: logits = wg.matmul(images, w)
logits = wg.matmul(images.astype(np.float32) / np.float32(255), w)
print(logits.predict().run().shape)
