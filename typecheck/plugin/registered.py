"""Registered values as they are, where their registration is in the same module (T61 to T63)."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any, TypeVar, assert_type

import numpy as np
from given import F32, L1, L3, Batch, count, data, settings, w, x

import wengert as wg

A = TypeVar("A")
double = settings.double_weight(1.0)
single = settings.float_weight(1.0)


def case_before_the_registration() -> None:  # T63
    assert_type(wg.exp(Fraction(1)), wg.DoubleLayer)
    assert_type(double * Fraction(1), wg.DoubleLayer)


class Point:
    """A class whose Data are arrays."""


class Far(Point):
    """A subclass is registered by its base."""


class Single:
    """A class whose Data are float32."""


class Celsius(float):
    """A float of a user's own is a float."""


@wg.register(Fraction)
def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
    return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))


@wg.register(Point)
def point(x: Point) -> wg.Do[wg.Tape[F32, F32]]:
    return wg.Do.now(wg.Tape(np.ones(2, np.float32), lambda delta: wg.UnitContinuation.now(None)))


@wg.register(Single)
def single_of(x: Single) -> wg.Do[wg.Tape[np.float32, np.float32]]:
    return wg.Do.now(wg.Tape(np.float32(1), lambda delta: wg.UnitContinuation.now(None)))


@wg.register(timedelta)
def span(x: timedelta) -> wg.Do[wg.Tape[timedelta, timedelta]]:
    return wg.Do.now(wg.Tape(x, lambda delta: wg.UnitContinuation.now(None)))


def user(a: wg.DoubleExpression, b: wg.DoubleExpression = 1.0) -> wg.DoubleLayer:
    return wg.add(a, b)


def of_arrays(a: wg.ArrayExpression) -> wg.ArrayLayer:
    return wg.exp(a)


def of_any(a: wg.Differentiable[A, A], /) -> A:
    return a.forward.map(lambda tape: tape.data).run()


class User:
    def __init__(self, a: wg.DoubleExpression) -> None:
        self.a = a

    def method(self, a: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.add(a, self.a)

    @classmethod
    def made(cls, a: wg.DoubleExpression) -> User:
        return cls(a)

    @staticmethod
    def still(a: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.exp(a)

    def __call__(self, a: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.multiply(a, self.a)


def case_operations() -> None:  # T61
    assert_type(wg.exp(Fraction(1)), wg.DoubleLayer)
    assert_type(wg.add(Fraction(1), Fraction(2)), wg.DoubleLayer)
    assert_type(wg.add(double, Fraction(2)), wg.DoubleLayer)
    assert_type(wg.multiply(Fraction(2), 2.0), wg.DoubleLayer)


def case_operations_of_arrays() -> None:  # T61
    assert_type(wg.relu(Point()), wg.ArrayLayer[Any, np.float32])
    assert_type(wg.matmul(x, Point()), wg.ArrayLayer)
    assert_type(wg.sum(Point()), wg.ArrayLayer[tuple[()]])
    assert_type(wg.tanh(Single()), wg.FloatLayer)


def case_comparisons() -> None:  # T61, T81
    assert_type(wg.greater(Fraction(1), 0.0), wg.Mask[tuple[()]])
    assert_type(wg.where(wg.greater(Fraction(1), 0.0), Fraction(1), double), wg.DoubleLayer)


def case_functions_of_users() -> None:  # T61
    assert_type(user(Fraction(1)), wg.DoubleLayer)
    assert_type(user(1.0, b=Fraction(1)), wg.DoubleLayer)
    assert_type(user(b=Fraction(1), a=Fraction(2)), wg.DoubleLayer)
    assert_type(of_arrays(Point()), wg.ArrayLayer)


def case_generic_functions_of_users() -> None:  # T61
    assert_type(of_any(timedelta(1)), timedelta)
    assert_type(of_any(Fraction(1)), float)


def case_methods() -> None:  # T61
    assert_type(User(Fraction(1)), User)
    assert_type(User(1.0).method(Fraction(2)), wg.DoubleLayer)
    assert_type(User.made(Fraction(1)), User)
    assert_type(User.still(Fraction(1)), wg.DoubleLayer)
    assert_type(User(1.0)(Fraction(1)), wg.DoubleLayer)


def case_lift() -> None:  # T61
    assert_type(wg.lift(Fraction(1)), wg.DoubleLayer)
    assert_type(wg.lift(Point()), wg.ArrayLayer)
    assert_type(wg.lift(Single()), wg.FloatLayer)
    assert_type(fraction(Fraction(1)), wg.DoubleLayer)


def case_losses() -> None:  # T61
    assert_type(wg.train(Fraction(1)), wg.Do[float])
    assert_type(wg.gradients(Fraction(1), (double, single)).run(), tuple[float, np.float32])


def case_operators() -> None:  # T62
    assert_type(double * Fraction(1), wg.DoubleLayer)
    assert_type(double - Fraction(1), wg.DoubleLayer)
    assert_type(x + Point(), wg.ArrayLayer)
    assert_type(single / Single(), wg.FloatLayer)


def case_reflected_operators() -> None:  # T62
    assert_type(Fraction(1) * double, wg.DoubleLayer)
    assert_type(Fraction(1) - wg.exp(Fraction(1)), wg.DoubleLayer)
    assert_type(Point() @ w, wg.ArrayLayer)
    assert_type(Single() ** single, wg.FloatLayer)


def case_subclasses() -> None:  # T63
    assert_type(wg.relu(Far()), wg.ArrayLayer[Any, np.float32])
    assert_type(wg.add(Far(), Point()), wg.ArrayLayer)
    assert_type(wg.exp(Celsius(1.0)), wg.DoubleLayer)
    assert_type(wg.exp(count()), wg.DoubleLayer)
    assert_type(wg.exp(Batch(1)), wg.DoubleLayer)


def case_shapes_go_on() -> None:  # T61, T79
    assert_type(wg.reshape(wg.relu(Point()), (1, 2)) @ wg.literal(data, 2, 3), Out)
    x @ wg.reshape(Point(), (2, 1))  # E[shape]: inner dimensions 3 and 2 differ


Out = wg.ArrayLayer[tuple[L1, L3]]
