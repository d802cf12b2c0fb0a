"""Values that are refused, with the reason and what to write instead (T65 to T68)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import assert_type

import numpy as np
import registered
from given import settings, w, x
from registered import Point, User, of_arrays, user

import wengert as wg

double = settings.double_weight(1.0)
single = settings.float_weight(1.0)


def case_unregistered_values() -> None:  # T67
    wg.exp(Decimal(1))  # E[not-differentiable]: ^"Decimal" is not a differentiable .*: no Instance\[Decimal,
    user(Decimal(1))  # E[not-differentiable]: \(@register\(Decimal\) or import it\)$
    user(1.0, b=Decimal(1))  # E[not-differentiable]: ^"Decimal" is not a differentiable scalar: no Instance
    wg.matmul(x, date(1, 1, 1))  # E[not-differentiable]: ^"date" is not a differentiable array: no Instance


def case_unregistered_values_of_methods() -> None:  # T67
    User(Decimal(1))  # E[not-differentiable]: "Decimal"
    User(1.0).method(Decimal(1))  # E[not-differentiable]: "Decimal"
    User.made(Decimal(1))  # E[not-differentiable]: "Decimal"
    User.still(Decimal(1))  # E[not-differentiable]: "Decimal"


def case_unregistered_operands() -> None:  # T67
    double * Decimal(1)  # E: "Decimal"
    Decimal(1) * double  # E: "DoubleWeight"
    x + Decimal(1)  # E: "Decimal"
    date(1, 1, 1) @ w  # E: "date"


def case_unregistered_losses() -> None:  # T67
    wg.train(Decimal(1))  # E: "Decimal"
    wg.predict(Decimal(1))  # E: "Decimal"
    wg.lift(Decimal(1))  # E: "Decimal"


def case_values_of_python() -> None:  # T16
    user("1")  # E[arg-type]: "str"
    user(None)  # E[arg-type]: "None"
    user([1.0])  # E[arg-type]: "list\[float\]"
    user(1j)  # E[arg-type]: "complex"
    user(Fraction)  # E[arg-type]: "type\[Fraction\]"


def case_another_column() -> None:  # T66
    of_arrays(Fraction(1))  # E[not-differentiable]: fraction registers it as "Instance\[Fraction, float,
    user(Point())  # E[not-differentiable]: point registers it as
    user(timedelta(1))  # E[not-differentiable]: span registers it as
    wg.matmul(x, Fraction(1))  # E[not-differentiable]: fraction registers it as


def case_operands_of_another_column() -> None:  # T66
    single * Fraction(1)  # E: "Fraction"
    double + Point()  # E: "Point"
    x * Fraction(1)  # E: "Fraction"


def case_another_dtype(wide: wg.ArrayLayer[tuple[int, int], np.float64]) -> None:  # T66
    wide + Point()  # E: "Point"
    wg.add(wide, Point())  # E[arg-type]: incompatible type "ArrayLayer\[.*"
    wg.add(single, Fraction(1))  # E[arg-type]: incompatible type "FloatWeight"


def case_ignores() -> None:  # T67
    user(Decimal(1))  # type: ignore[not-differentiable] # the mistake that this case is about
    user(Fraction(1))  # type: ignore[not-differentiable] # E[unused-ignore]: Unused "type: ignore" comment
    user(Decimal(1))  # type: ignore[shape] # E[not-differentiable]: "Decimal"
    user(Decimal(1))  # type: ignore  # E[ignore-without-code]: comment without error code


def case_assignments() -> None:  # T68: a limit; only arguments and operands are looked at
    x: wg.DoubleExpression = Fraction(1)  # E[assignment]: "Fraction"
    assert_type(user(fraction_of(x)), wg.DoubleLayer)


def fraction_of(x: object) -> Fraction:
    return Fraction(str(x))


def case_returns() -> None:  # T68: a limit
    def returned() -> wg.DoubleExpression:
        return Fraction(1)  # E[return-value]: "Fraction"

    user(returned())


def case_callables(apply: Callable[[wg.DoubleExpression], wg.DoubleLayer]) -> None:  # T68: a limit
    apply(Fraction(1))  # E[arg-type]: "Fraction"
    apply(registered.fraction(Fraction(1)))


def case_items(many: list[Fraction]) -> None:  # T68: a limit
    def of_all(*xs: wg.DoubleExpression) -> wg.DoubleLayer:
        return wg.lift(1.0)

    of_all(Fraction(1))  # E[arg-type]: "Fraction"
    expressions: list[wg.DoubleExpression] = [Fraction(1)]  # E[list-item]: "Fraction"
    assert_type([user(y) for y in many], list[wg.DoubleLayer])
    of_all(*expressions)
