"""Each optimizer beside a rate that stays as it is: settings that many tests take.

Knows: classes of settings.
Refuses to know: their numbers, which each test says.
"""

from __future__ import annotations

from wengert.plugins import (
    Adadelta,
    Adagrad,
    Adam,
    AdamW,
    L1Regularization,
    LearningRate,
    Momentum,
    Nesterov,
    RMSprop,
)


class WithMomentum(Momentum, LearningRate): ...


class WithNesterov(Nesterov, LearningRate): ...


class WithAdadelta(Adadelta, LearningRate): ...


class WithAdagrad(Adagrad, LearningRate): ...


class WithRMSprop(RMSprop, LearningRate): ...


class WithAdam(Adam, LearningRate): ...


class WithAdamW(AdamW, LearningRate): ...


class WithL1(L1Regularization, LearningRate): ...
