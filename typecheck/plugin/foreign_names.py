"""Attributes and methods of other libraries' arrays and models: one line says what to write (T81, T74)."""

from __future__ import annotations

from given import settings, w, x

import wengert as wg
from wengert import nn


def case_arrays() -> None:  # T81
    print(x.T)  # E[attr-defined]: ^ArrayLayer has no T: write permute_dims\(x, \(1, 0\)\)$
    x.view(6)  # E[attr-defined]: ^ArrayLayer has no view: write reshape\(x, shape\)$
    x.size()  # E[attr-defined]: ^ArrayLayer has no size: write x\.shape$
    x.argmax(1) + 1  # E[attr-defined]: ^ArrayLayer has no argmax: write argmax\(x, axis=\.\.\.\)$
    print(w.grad)  # E[attr-defined]: ^ArrayWeight has no grad: write gradients\(loss, \(w,\)\)\.run\(\)$
    wg.mean(x).item()  # E[attr-defined]: ^ArrayLayer has no item: write layer\.predict\(\)\.run\(\)$
    wg.greater(x, 0.0).sum()  # E[attr-defined]: ^Mask has no sum: write sum\(x\)$
    print(x.no_name_of_anybody)  # E[attr-defined]: has no attribute "no_name_of_anybody"


def case_models() -> None:  # T81
    layer = nn.Linear.make(settings, 3, 2, seed=0)
    layer.parameters()  # E[attr-defined]: ^Linear has no parameters: write nn\.weights\(model\)$
    norm = nn.BatchNorm.make(settings, 3)
    norm.eval()  # E[attr-defined]: ^BatchNorm has no eval: write model\(x\), without a seed$
    nn.Linear(8, 16, seed=0)  # E[arg-type]: write Linear\.make\(settings, 8, 16, seed=0\)$


def case_losses() -> None:  # T74
    x.train()  # E[shape]: ^train: a loss is a scalar, this one has shape \(2, 3\); reduce it first
    wg.mean(x).train(also=x)
    x.train(also=w)  # E[shape]: ^train: a loss is a scalar
