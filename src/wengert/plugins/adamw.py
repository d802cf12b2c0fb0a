"""AdamW: Adam, and a weight decay that Adam does not scale.

Knows: that it is these two, and nothing else.
Refuses to know: any formula; the two that it is made of have them.
"""

from __future__ import annotations

from wengert.plugins.adam import Adam
from wengert.plugins.decay import WeightDecay


class AdamW(Adam, WeightDecay):
    """Adam and WeightDecay in one.

    >>> from wengert.plugins import LearningRate
    >>> class Settings(AdamW, LearningRate): ...
    >>> w = Settings(learning_rate=1.0, weight_decay=0.1, eps=0.0).double_weight(1.0)
    >>> [(w * d).train().run() for d in (1.0, 2.0)][0], round(w.data, 6)
    (1.0, -1.055182)

    Source: I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019, algorithm 2.
    """
