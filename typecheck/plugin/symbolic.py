"""Dimensions that are computed for all sizes: Add, Mul, FloorDiv of literals and type variables (T78)."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, assert_type

from given import L1, L2, L3, L4, L5, L8, L32, data, settings

import wengert as wg
from wengert.dims import Add, FloorDiv, Mul

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
U = TypeVar("U", bound=int)
H = TypeVar("H", bound=int)
I = TypeVar("I", bound=int)
O = TypeVar("O", bound=int)


def dense_block(
    x: wg.ArrayLayer[tuple[B, I]], w: wg.ArrayWeight[tuple[I, L32]]
) -> wg.ArrayLayer[tuple[B, Add[I, L32]]]:
    return wg.concat([x, wg.relu(x @ w)], axis=1)


def doubled(x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, Mul[L2, I]]]:
    return wg.concat([x, x], axis=-1)


def case_a_dense_block() -> None:  # T78
    x, w = wg.literal(data, 2, 64), settings.array_weight(data, 64, 32)
    assert_type(dense_block(x, w), wg.ArrayLayer[tuple[L2, Literal[96]]])
    dense_block(x, settings.array_weight(data, 32, 32))  # E[shape]: ^dense_block: I is both 64 and 32$


def case_blocks_of_blocks() -> None:  # T78
    x, w = wg.literal(data, 2, 64), settings.array_weight(data, 64, 32)
    assert_type(doubled(dense_block(x, w)), wg.ArrayLayer[tuple[L2, Literal[192]]])
    assert_type(dense_block(dense_block(x, w), settings.array_weight(data, 96, 32)).shape[1], Literal[128])
    doubled(x) @ w  # E[shape]: ^matmul: cannot multiply \(2, 128\) by \(64, 32\): inner .* 128 and 64 differ$


def case_a_block_in_a_generic_function(
    x: wg.ArrayLayer[tuple[B, H]], w: wg.ArrayWeight[tuple[H, L32]]
) -> None:  # T78
    assert_type(dense_block(x, w), wg.ArrayLayer[tuple[B, Add[H, L32]]])
    assert_type(doubled(x), wg.ArrayLayer[tuple[B, Mul[L2, H]]])
    assert_type(doubled(doubled(x)), wg.ArrayLayer[tuple[B, Mul[L4, H]]])


def case_order_does_not_matter(
    x: wg.ArrayLayer[tuple[B, Add[L32, Mul[I, L2]]]],
) -> wg.ArrayLayer[tuple[B, Add[Mul[L2, I], L32]]]:  # T78
    return x


def case_products_are_multiplied_out(
    x: wg.ArrayLayer[tuple[Mul[Add[I, L1], L2], Mul[Add[B, L1], Add[B, Literal[-1]]]]],
) -> wg.ArrayLayer[tuple[Add[Mul[L2, I], L2], Add[Mul[B, B], Literal[-1]]]]:  # T78
    return x


def case_a_wrong_sum(
    x: wg.ArrayLayer[tuple[B, I]], w: wg.ArrayWeight[tuple[I, L32]]
) -> wg.ArrayLayer[tuple[B, Add[I, Literal[31]]]]:  # T78
    return wg.concat([x, x @ w], axis=1)  # E[return-value]: Add\[I, Literal\[32\]\]


def case_a_wrong_product(x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, Mul[L3, I]]]:  # T78
    return wg.concat([x, x], axis=1)  # E[return-value]: Mul\[Literal\[2\], I\]


def case_heads(
    x: wg.ArrayLayer[tuple[B, T, Mul[H, L8]]], heads: H
) -> wg.ArrayLayer[tuple[B, T, Mul[H, L8]]]:  # T78
    b, t, _ = x.shape
    split = wg.permute_dims(wg.reshape(x, (b, t, heads, 8)), (0, 2, 1, 3))
    assert_type(split, wg.ArrayLayer[tuple[B, H, T, L8]])
    scores = wg.softmax(split @ wg.permute_dims(split, (0, 1, 3, 2)))
    assert_type(scores, wg.ArrayLayer[tuple[B, H, T, T]])
    joined = wg.permute_dims(scores @ split, (0, 2, 1, 3))
    return wg.reshape(joined, (b, t, -1))


def case_heads_split_wrongly(x: wg.ArrayLayer[tuple[B, T, Mul[H, L8]]], heads: H) -> None:  # T78
    b, t, _ = x.shape
    split = wg.permute_dims(wg.reshape(x, (b, t, heads, 8)), (0, 2, 1, 3))
    wg.reshape(x, (b, t, heads, 4))  # E[shape]: cannot reshape \(B, T, 8\*H\) .* into \(B, T, H, 4\)
    split @ split  # E[shape]: ^matmul: .*: inner dimensions 8 and T differ$
    wg.softmax(split @ wg.permute_dims(split, (0, 1, 3, 2))) + split  # E[shape]: ^add: .*: T and 8 differ$


def case_heads_joined_wrongly(
    x: wg.ArrayLayer[tuple[B, H, T, L8]],
) -> wg.ArrayLayer[tuple[B, T, Mul[H, L8]]]:  # T78: the axes of heads and time not exchanged before joining
    b, h, _, _ = x.shape
    return wg.reshape(x, (b, h, -1))  # E[return-value]: Mul\[Literal\[8\], T\]


def cross_attention(
    queries: wg.ArrayLayer[tuple[B, T, I]],
    keys: wg.ArrayLayer[tuple[B, U, I]],
    values: wg.ArrayLayer[tuple[B, U, O]],
) -> wg.ArrayLayer[tuple[B, T, O]]:
    scores = queries @ wg.permute_dims(keys, (0, 2, 1))
    assert_type(scores, wg.ArrayLayer[tuple[B, T, U]])
    return wg.softmax(scores, axis=-1) @ values


def case_cross_attention() -> None:  # T78
    queries, keys = wg.literal(data, 2, 4, 8), wg.literal(data, 2, 5, 8)
    values = wg.literal(data, 2, 5, 3)
    assert_type(cross_attention(queries, keys, values), wg.ArrayLayer[tuple[L2, L4, L3]])
    cross_attention(queries, keys, queries)  # E[shape]: ^cross_attention: U is both 5 and 4$
    narrow = wg.literal(data, 2, 5, 3)
    cross_attention(queries, narrow, values)  # E[shape]: ^cross_attention: I is both 8 and 3$


def case_attention_with_keys_and_values_confused(
    queries: wg.ArrayLayer[tuple[B, T, I]],
    keys: wg.ArrayLayer[tuple[B, U, I]],
    values: wg.ArrayLayer[tuple[B, U, O]],
) -> None:  # T78
    queries @ keys  # E[shape]: inner dimensions I and U differ$
    queries @ wg.permute_dims(values, (0, 2, 1))  # E[shape]: inner dimensions I and O differ$
    (queries @ wg.permute_dims(keys, (0, 2, 1))) @ queries  # E[shape]: inner dimensions U and T differ$


def case_a_residual(
    x: wg.ArrayLayer[tuple[B, I]], w: wg.ArrayWeight[tuple[I, I]]
) -> wg.ArrayLayer[tuple[B, I]]:  # T78
    return x + wg.relu(x @ w)


def case_a_residual_of_another_width(
    x: wg.ArrayLayer[tuple[B, I]], v: wg.ArrayWeight[tuple[I, O]]
) -> wg.ArrayLayer[tuple[B, I]]:  # T78
    x + wg.relu(x @ v)  # E[shape]: ^add: shapes \(B, I\) and \(B, O\) do not broadcast: I and O differ$
    return x @ v  # E[return-value]: got "ArrayLayer\[.*", expected "ArrayLayer\[.*"


def case_a_bottleneck(
    x: wg.ArrayLayer[tuple[B, I]],
    down: wg.ArrayWeight[tuple[I, FloorDiv[I, L4]]],
    up: wg.ArrayWeight[tuple[FloorDiv[I, L4], I]],
) -> wg.ArrayLayer[tuple[B, I]]:  # T78
    assert_type(x @ down, wg.ArrayLayer[tuple[B, FloorDiv[I, L4]]])
    x @ up  # E[shape]: inner dimensions I and I//4 differ$
    return x + wg.relu(x @ down) @ up


def case_quotients(
    x: wg.ArrayLayer[tuple[B, FloorDiv[Add[H, L1], L2]]],
    y: wg.ArrayLayer[tuple[B, Add[FloorDiv[Add[H, Literal[-1]], L2], L1]]],
    z: wg.ArrayLayer[tuple[B, FloorDiv[H, L2]]],
) -> wg.ArrayLayer[tuple[B, FloorDiv[Add[H, L1], L2]]]:  # T78: (H - 1)//2 + 1 is (H + 1)//2
    assert_type(wg.concat([x, y], axis=1), wg.ArrayLayer[tuple[B, Mul[L2, FloorDiv[Add[H, L1], L2]]]])
    x + z  # E[shape]: \(H \+ 1\)//2 and H//2 differ
    return x + y


def case_quotients_that_come_out_even(
    x: wg.ArrayLayer[tuple[FloorDiv[Mul[H, L8], L4], FloorDiv[Mul[H, B], B], FloorDiv[H, L1]]],
) -> wg.ArrayLayer[tuple[Mul[L2, H], H, H]]:  # T78
    return x


def halved(x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, FloorDiv[I, L2]]]:
    return halved(x)


def case_quotients_at_a_call() -> None:  # T78
    assert_type(halved(wg.literal(data, 3, 8)), wg.ArrayLayer[tuple[L3, L4]])
    assert_type(halved(wg.literal(data, 3, 5)), wg.ArrayLayer[tuple[L3, L2]])
    assert_type(halved(halved(wg.literal(data, 3, 8))), wg.ArrayLayer[tuple[L3, L2]])


def case_slices_of_variables(x: wg.ArrayLayer[tuple[B, I]]) -> None:  # T78, T79
    assert_type(x[:, 0], wg.ArrayLayer[tuple[B]])
    assert_type(x[1:], wg.ArrayLayer[tuple[Any, I]])
    assert_type(wg.stack([x, x]), wg.ArrayLayer[tuple[L2, B, I]])
    assert_type(wg.sum(x, axis=0), wg.ArrayLayer[tuple[I]])


class Linear(Generic[I, O]):
    """A user's own layer, generic in two dimensions."""

    def __init__(self, w: wg.ArrayWeight[tuple[I, O]]) -> None:
        self.w = w

    def __call__(self, x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, O]]:
        return x @ self.w

    def twice(self, x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, Add[O, O]]]:
        return wg.concat([self(x), x @ self.w], axis=1)


def case_generic_classes() -> None:  # T77, T78
    layer = Linear(settings.array_weight(data, 3, 4))
    assert_type(layer(wg.literal(data, 2, 3)), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(layer.twice(wg.literal(data, 2, 3)), wg.ArrayLayer[tuple[L2, L8]])
    layer(wg.literal(data, 2, 4))  # E[arg-type]: incompatible type "ArrayLayer\[.*"


def case_generic_classes_in_a_row() -> None:  # T77, T78
    first, second = Linear(settings.array_weight(data, 3, 4)), Linear(settings.array_weight(data, 4, 5))
    assert_type(second(wg.relu(first(wg.literal(data, 2, 3)))), wg.ArrayLayer[tuple[L2, L5]])
    first(second(wg.literal(data, 2, 4)))  # E[arg-type]: Literal\[5\]


def case_arity(x: wg.ArrayLayer[tuple[B, Add[B]]]) -> None:  # E[shape]: Add takes two dimensions
    pass


def split_heads(x: wg.ArrayLayer[tuple[B, T, Mul[H, L8]]], heads: H) -> wg.ArrayLayer[tuple[B, H, T, L8]]:
    b, t, _ = x.shape
    return wg.permute_dims(wg.reshape(x, (b, t, heads, 8)), (0, 2, 1, 3))


def case_computed_parameters() -> None:  # T78
    x = wg.literal(data, 2, 5, 64)
    assert_type(split_heads(x, 8), wg.ArrayLayer[tuple[L2, L8, L5, L8]])
    assert_type(split_heads(x, heads=8), wg.ArrayLayer[tuple[L2, L8, L5, L8]])
    split_heads(x, 4)  # E[arg-type]: expected "ArrayLayer\[tuple\[Literal\[2\], Literal\[5\], Literal\[32\]\]


def case_computed_parameters_of_unknown_size(
    some: wg.ArrayLayer[tuple[Any, Any, Any]], n: int
) -> None:  # T79
    x = wg.literal(data, 2, 5, 64)
    assert_type(split_heads(x, n), wg.ArrayLayer[tuple[L2, Any, L5, L8]])
    split_heads(some, 8)


def mirrored(
    x: wg.ArrayLayer[tuple[Mul[L2, B], H]], y: wg.ArrayLayer[tuple[B, H]]
) -> wg.ArrayLayer[tuple[B, H]]:
    return mirrored(x, y)


def case_parameters_computed_from_a_later_argument() -> None:  # T78
    y = wg.literal(data, 3, 4)
    assert_type(mirrored(wg.literal(data, 6, 4), y), wg.ArrayLayer[tuple[L3, L4]])
    mirrored(wg.literal(data, 5, 4), y)  # E[arg-type]: Literal\[6\]
