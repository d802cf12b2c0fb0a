"""Unknown sizes agree with every other one, and what is known is still checked (T79)."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar, assert_type

import numpy as np
from given import F32, L1, L2, L3, L4, Batch, data, named, settings, unknown, w, x

import wengert as wg
from wengert import extend
from wengert.dims import Add

S = TypeVar("S", bound=tuple[int, ...])
B = TypeVar("B", bound=int)
Half = wg.ArrayLayer[tuple[Any, L3]]


def case_an_unknown_shape() -> None:  # T79
    assert_type(unknown @ w, wg.ArrayLayer[Any])
    assert_type(wg.relu(unknown), wg.ArrayLayer[Any])
    assert_type(unknown[0], wg.ArrayLayer[Any])
    assert_type(wg.permute_dims(unknown, (1, 0)), wg.ArrayLayer[Any])


def case_an_unknown_dimension(half: Half) -> None:  # T79
    assert_type(half @ w, wg.ArrayLayer[tuple[Any, L4]])
    assert_type(half + x, wg.ArrayLayer[tuple[L2, L3]])
    assert_type(half + wg.literal(data, 1, 3), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.sum(half, axis=1), wg.ArrayLayer[tuple[Any]])


def case_elements_of_unknown_number(half: Half) -> None:  # T79
    assert_type(wg.reshape(half, (-1, 1)), wg.ArrayLayer[tuple[Any, L1]])
    assert_type(wg.reshape(half, (2, 3)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.broadcast_to(half, (2, 3)), wg.ArrayLayer[tuple[L2, L3]])


def case_raw_arrays_can_be_given_a_shape() -> None:  # T79
    assert_type(wg.reshape(data, (2, 3)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.broadcast_to(data, (2, 3)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.reshape(unknown, (-1, 3)), wg.ArrayLayer[tuple[Any, L3]])
    wg.reshape(data, (-1, -1))  # E[shape]: at most one dimension may be -1


def case_what_is_known_is_checked(half: Half) -> None:  # T79
    half @ x  # E[shape]: ^matmul: cannot multiply \(\?, 3\) by \(2, 3\): inner dimensions 3 and 2 differ$
    half + w  # E[shape]: ^add: shapes \(\?, 3\) and \(3, 4\) do not broadcast: 3 and 4 differ$
    wg.squeeze(half, axis=1)  # E[shape]: ^squeeze: axis 1 of shape \(\?, 3\) has size 3, not 1$
    wg.mean(half, axis=2)  # E[shape]: axis 2 is out of range for shape \(\?, 3\)$
    half[0, 3]  # E[shape]: index 3 is out of bounds for axis 1 with size 3$


def case_assignments(half: Half) -> None:  # T79
    taken: wg.ArrayLayer[tuple[L2, L3]] = half
    again: Half = taken
    bare: wg.ArrayLayer = again
    assert_type(bare @ w, wg.ArrayLayer[Any])


def case_assignments_that_do_not_fit(half: Half) -> None:  # T79, T21
    taken: wg.ArrayLayer[tuple[L2, L4]] = half  # E[assignment]: expression has type "ArrayLayer\[tuple\[Any,
    taken = x  # E[assignment]: variable has type "ArrayLayer\[tuple\[Literal\[2\], Literal\[4\]\]
    wider: wg.ArrayLayer[tuple[L2, L3, L1]] = half  # E[assignment]: expression has type "ArrayLayer\[.*"
    assert_type((taken, wider), tuple[wg.ArrayLayer[tuple[L2, L4]], wg.ArrayLayer[tuple[L2, L3, L1]]])


def case_functions_are_checked_by_their_signatures() -> None:  # T79
    def model(x: wg.ArrayLayer[tuple[Batch, L3]]) -> wg.ArrayLayer[tuple[Batch, L4]]:
        return wg.relu(x @ w)

    assert_type(model(named), wg.ArrayLayer[tuple[Batch, L4]])
    model(unknown)
    model(x)  # E[arg-type]: expected "ArrayLayer\[tuple\[Batch, Literal\[3\]\]


def case_a_wrong_signature() -> None:  # T79
    def wrong(x: wg.ArrayLayer[tuple[Batch, L3]]) -> wg.ArrayLayer[tuple[Batch, L3]]:
        return wg.relu(x @ w)  # E[return-value]: got "ArrayLayer\[tuple\[Batch, Literal\[4\]\]


def case_shape_variables(x: wg.ArrayLayer[S], scale: wg.FloatWeight) -> wg.ArrayLayer[S]:  # T73
    assert_type(wg.relu(x), wg.ArrayLayer[S])
    return wg.exp(x)


def normalised(x: wg.ArrayLayer[S]) -> wg.ArrayLayer[S]:
    return wg.tanh(x)


def case_functions_of_any_shape() -> None:  # T73
    assert_type(normalised(x) @ w, wg.ArrayLayer[tuple[L2, L4]])
    assert_type(normalised(normalised(w)), wg.ArrayLayer[tuple[L3, L4]])  # E[arg-type]


def case_gradients_have_the_shape_of_their_weight(labels: F32) -> None:  # T47
    other = settings.array_weight(data, Batch, 4)
    grads = wg.gradients(wg.sum(x @ w), (w, other)).run()
    assert_type(grads[0].shape, tuple[L3, L4])
    assert_type(grads[1].shape, tuple[Batch, L4])
    dw, _ = wg.gradients(wg.sum(x @ w), (w, other)).layers
    assert_type(dw, wg.ArrayLayer[tuple[L3, L4]])
    assert_type(x @ dw, wg.ArrayLayer[tuple[L2, L4]])


@extend.elementwise()
def thrice(case: Any, x: Any) -> Any:
    return x * 3.0


@extend.broadcasting()
def twice_the_sum(case: Any, a: Any, b: Any) -> Any:
    return 2.0 * (a + b)


@extend.comparison
def much_greater(case: Any, a: Any, b: Any) -> Any:
    return case.xp.greater(a, 10.0 * b)


def case_operations_of_users() -> None:  # T73
    assert_type(thrice(x) @ w, wg.ArrayLayer[tuple[L2, L4]])
    assert_type(twice_the_sum(x, 1.0), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(much_greater(x, x), wg.Mask[tuple[L2, L3]])
    thrice(w) @ x  # E[shape]: inner dimensions 4 and 2 differ


def case_operations_of_users_refuse() -> None:  # T73
    twice_the_sum(x, w)  # E[shape]: ^twice_the_sum: shapes \(2, 3\) and \(3, 4\) do not broadcast
    much_greater(x, w)  # E[shape]: ^much_greater: shapes
    thrice("1")  # E[call-overload]: matches argument type "str"
    twice_the_sum(x)  # E[call-overload]: matches argument type "ArrayLayer\[.*"


def case_ignores() -> None:  # T67
    x @ x  # type: ignore[shape] # the mistake that this case is about
    x @ w  # type: ignore[shape]  # E[unused-ignore]: Unused "type: ignore" comment
    x @ x  # type: ignore[misc] # E[shape]: inner dimensions


Json: TypeAlias = "dict[str, Json] | list[Json] | str"


def of_json(x: Json, y: wg.ArrayLayer[tuple[B, L3]]) -> wg.ArrayLayer[tuple[B, Add[L3, L1]]]:
    return of_json(x, y)


def case_types_without_an_end(json: Json, many: list[Json]) -> None:  # T78
    assert_type(of_json({"a": ["b"]}, x), wg.ArrayLayer[tuple[L2, L4]])
    np.asarray(many)
    any(many)
    of_json(x, x)  # E[arg-type]: "ArrayLayer
