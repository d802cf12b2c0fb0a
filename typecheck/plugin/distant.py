"""Registrations that are not in scope, or too many (T65)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import assert_type

import second
from cycling import Mean

import wengert as wg


def case_two_registrations_in_scope() -> None:  # T65
    wg.exp(Mean())  # E[not-differentiable]: 2 registrations are in scope \(\w+.mean, \w+.mean\)
    wg.lift(2.0) * Mean()  # E[not-differentiable]: 2 registrations are in scope
    assert_type(second.mean(Mean()), wg.DoubleLayer)


def case_a_module_that_an_imported_module_imports() -> None:  # T65
    wg.exp(Decimal(1))  # E[not-differentiable]: no Instance\[Decimal, ...\] in scope
    wg.exp(Fraction(1))  # E[not-differentiable]: no Instance\[Fraction, ...\] in scope


def case_of_two_registrations_the_nearer_class_counts() -> None:  # T65
    assert_type(wg.exp(second.Narrow()), wg.FloatLayer)
    assert_type(wg.exp(second.Wide()), wg.DoubleLayer)
