"""Each optimizer beside a rate that stays as it is: settings that many tests take.

Knows: classes of settings.
Refuses to know: their numbers, which each test says.
"""

from __future__ import annotations

from wengert.plugins import (
    LAMB,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    AMSGrad,
    ExponentialMovingAverage,
    L1Regularization,
    LearningRate,
    Lion,
    Lookahead,
    Momentum,
    Muon,
    NAdam,
    Nesterov,
    RAdam,
    RMSprop,
    StochasticWeightAveraging,
)


class WithMomentum(Momentum, LearningRate): ...


class WithNesterov(Nesterov, LearningRate): ...


class WithAdadelta(Adadelta, LearningRate): ...


class WithAdagrad(Adagrad, LearningRate): ...


class WithRMSprop(RMSprop, LearningRate): ...


class WithAdam(Adam, LearningRate): ...


class WithAdamW(AdamW, LearningRate): ...


class WithL1(L1Regularization, LearningRate): ...


class WithAdamax(Adamax, LearningRate): ...


class WithAMSGrad(AMSGrad, LearningRate): ...


class WithNAdam(NAdam, LearningRate): ...


class WithRAdam(RAdam, LearningRate): ...


class WithLion(Lion, LearningRate): ...


class WithLAMB(LAMB, LearningRate): ...


class WithAdafactor(Adafactor, LearningRate): ...


class WithMuon(Muon, LearningRate): ...


class WithMovingAverage(ExponentialMovingAverage, AdamW, LearningRate): ...


class WithMean(StochasticWeightAveraging, AdamW, LearningRate): ...


class WithLookahead(Lookahead, AdamW, LearningRate): ...
