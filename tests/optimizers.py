"""Each optimizer beside a rate that stays as it is: settings that many tests take.

Knows: classes of settings.
Refuses to know: their numbers, which each test says.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from wengert.extend import Optimizer, dense
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
    Plugin,
    RAdam,
    RMSprop,
    Rprop,
    StochasticWeightAveraging,
)

OPTIMIZERS: Final = (  # each takes the size of its steps from what it has seen
    Adadelta,
    Adagrad,
    RMSprop,
    Adam,
    AdamW,
    AMSGrad,
    Adamax,
    NAdam,
    RAdam,
    Lion,
    LAMB,
    Rprop,
    Adafactor,
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


class Naming(Optimizer["Named"], pure=True):
    """Steps a quarter as long for the weight that is called so."""

    def step(self, delta: Any, weight: Any) -> Any:  # Any: as `Optimizer` has them
        return super().step(dense(delta) * (0.5 if weight.name == "a" else 2.0), weight)


class Named(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Naming


class WithNames(Named, Momentum, LearningRate): ...
