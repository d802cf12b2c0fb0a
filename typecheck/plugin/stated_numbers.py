"""Settings and numbers that the program states and the run refuses (T70)."""

from __future__ import annotations

from typing import Final, assert_type

from given import L2, L3, x

import wengert as wg
from wengert.nn import Dropout
from wengert.plugins import SGD, Adam, L2Regularization, LearningRate, Momentum, RMSprop

RATE: Final = 20
MEAN: Final = 0.2


def case_plugins_in_order() -> None:
    class Right(L2Regularization, Momentum, SGD): ...

    class Wrong(LearningRate, Adam): ...  # E[settings]: ^Wrong: LearningRate stands left of Adam

    class Late(L2Regularization, SGD, RMSprop): ...  # E[settings]: write `class Late\(L2Reg.*, SGD\)`

    class Never(Right, Adam): ...  # E[settings]: no order of its bases does that

    assert_type(Right(l2=0.1, momentum=0.9, learning_rate=0.1).momentum, float)


def case_hyperparameters(rate: float) -> None:
    class Settings(Adam, LearningRate): ...

    Settings(learning_rate=rate, beta1=0.5)
    Settings(learning_rate=0.1, beta1=1.5)  # E[value]: ^Settings: beta1 is 1.5; it has to
    SGD(learning_rate=-0.1)  # E[value]: ^SGD: learning_rate is -0.1; it has to be a finite number


def case_rates_of_dropout(rate: float) -> None:
    assert_type((Dropout(MEAN), Dropout(rate)), tuple[Dropout, Dropout])
    assert_type(wg.dropout(x, 0.2, seed=0), wg.ArrayLayer[tuple[L2, L3]])
    Dropout(50)  # E[value]: ^Dropout: the rate is a number from 0 to less than 1; got 50$
    Dropout(rate=RATE)  # E[value]: got 20$
    wg.dropout(x, 50, seed=0)  # E[value]: ^dropout: the rate is a number from 0 to less than 1, the part


def case_bounds() -> None:
    assert_type(wg.clip(x, 1e-7, 1.0), wg.ArrayLayer[tuple[L2, L3]])
    wg.clip(x, 1.0, 1e-7)  # E[value]: ^clip: min 1.0 is greater than max 1e-07$
    wg.clip(x, min=2, max=1)  # E[value]: ^clip: min 2 is greater than max 1$
