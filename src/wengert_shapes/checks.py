"""Checks that pyrefly computes with integers where a call is judged, and the words of those that no size makes right.

Knows: the language of `shape_extensions.dsl`, in which they are written; a size that is not known is not judged.
Refuses to know: sizes with a name, which pyrefly compares as the types that they are.
"""

from __future__ import annotations

from typing import Final

# what pyrefly computes with integers where a call is checked; of others, such as a class of `int`, it is not asked
CHECKS: Final = """

@type_shape_dsl_function
def elements(whole: Int, stated: Int, last: Int) -> Int:
    if dsl.is_concrete_int(whole) and dsl.is_concrete_int(stated) and whole != stated:
        return dsl.Invalid("reshape: the shapes have different numbers of elements")
    return last

@type_shape_dsl_function
def expected(wanted: Int, given: Int, made: Int) -> Int:
    if dsl.is_concrete_int(wanted) and dsl.is_concrete_int(given) and wanted != given:
        return dsl.Invalid("expected a last axis of another size")
    return made

@type_shape_dsl_function
def fitting(count: Int, least: Int) -> Int:
    if dsl.is_concrete_int(count) and count < least:
        return dsl.Invalid("a window does not fit the image")
    return count

@type_shape_dsl_function
def within(left: Int, length: Int, end: Int) -> Int:
    if dsl.is_concrete_int(length) and dsl.is_concrete_int(end) and length < end:
        return dsl.Invalid("an index out of range")
    return left

@type_shape_dsl_function
def parted(whole: Int, again: Int, part: Int) -> Int:
    if dsl.is_concrete_int(whole) and dsl.is_concrete_int(again) and whole != again:
        return dsl.Invalid("parts that do not divide the whole")
    return part

@type_shape_dsl_function
def how_many(values: IntTuple) -> Int:
    return len(values)

@type_shape_dsl_function
def labelled(a: Int, x: Int, b: Int, y: Int, c: Int, z: Int) -> IntTuple:
    if dsl.is_concrete_int(a) and dsl.is_concrete_int(x) and a != x:
        return dsl.Invalid("cross_entropy: logits need one label a line")
    if dsl.is_concrete_int(b) and dsl.is_concrete_int(y) and b != y:
        return dsl.Invalid("cross_entropy: logits need one label a line")
    if dsl.is_concrete_int(c) and dsl.is_concrete_int(z) and c != z:
        return dsl.Invalid("cross_entropy: logits need one label a line")
    return dsl.IntTuple(())
"""
# calls that no size makes right
REFUSALS: Final = {
    "fewer_elements": "reshape: the shapes have different numbers of elements between their names",
    "indices_of_another_rank": "take_along_axis: the indices have as many axes as the array",
    "labels_of_another_rank": "cross_entropy: labels have an axis less than the logits",
    "letters": "einsum: a letter has two sizes, or an operand has more or fewer axes than letters",
    "mask": "where: the mask and the array do not broadcast",
    "targets_of_another_rank": "predictions and targets have axes of another number; write reshape or squeeze",
    "square": "a column (n, 1) and a vector (n,) would broadcast to (n, n); write expand_dims or squeeze",
}


def misfit(name: str) -> str:
    """The result of a call that is refused, by a function of `CHECKS`, which has the words."""
    return f"ArrayLayer[{name}(1), T_, V_]"
