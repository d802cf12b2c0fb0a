"""The discriminator of a game is given a negative rate, to climb instead of to descend.

Source: arogozhnikov/DeepMMD-GAN#2, minus to learning rate.
"""

import wengert as wg
from wengert.plugins import SGD

# bug: settings = SGD(learning_rate=-1e-4)
settings = SGD(learning_rate=1e-4)
print(wg.square(settings.double_weight(2.0)).train().run())
