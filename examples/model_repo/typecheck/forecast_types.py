"""What mypy has to accept of the forecaster, and what it has to refuse."""

from __future__ import annotations

from typing import Literal, assert_type

import numpy as np
from forecast import WIDTH, Batch, Floats, Forecaster, Settings, Time

import wengert as wg
from wengert.testing import plugin_active

model = Forecaster(Settings(learning_rate=0.01))


def case_the_plugin_is_on() -> None:
    assert_type(plugin_active(), Literal[True])


def case_an_answer_has_one_value_for_each_sensor(data: Floats) -> None:
    series = wg.literal(data, Batch, Time, 4)
    assert_type(model.read(series), wg.ArrayLayer[tuple[Batch, Time, Literal[16]]])
    assert_type(model(series), wg.ArrayLayer[tuple[Batch, Literal[4]]])


def case_five_sensors_are_refused(data: Floats) -> None:
    model.read(wg.literal(data, Batch, Time, 5))  # E[shape]: expected last axis 4, got \(Batch, Time, 5\)


def case_time_comes_before_the_sensors(data: Floats) -> None:
    model(wg.literal(data, Batch, 4, Time))  # E[arg-type]


def case_answers_and_features_differ(data: Floats) -> None:
    answer = model(wg.literal(data, Batch, Time, 4))
    features = wg.literal(data, Batch, WIDTH)
    answer - features  # E[shape]: ^subtract: shapes \(Batch, 4\) and \(Batch, 16\) do not broadcast


def case_only_a_number_is_trained(data: Floats) -> None:
    model(wg.literal(data, Batch, Time, 4)).train()  # E[shape]: ^train: a loss is a scalar


def case_doubles_are_refused(data: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    model.loss(data, data)  # E[arg-type]
