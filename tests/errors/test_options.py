"""Options, numbers, names and paths that nothing can be done with: refused at the call, shortly, on the user's line."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from wengert import saving
from wengert.plugins import SGD

from .golden import Unchecked, ones, said, w, wg

save: Unchecked = saving.save
load: Unchecked = saving.load
sgd: Unchecked = SGD
settings: Unchecked = SGD(learning_rate=0.1)
image: Unchecked = settings.array_weight(ones(1, 1, 4, 4), name="image")
kernel: Unchecked = settings.array_weight(ones(1, 1, 2, 2), name="kernel")
array = np.ones((2, 3))
HUGE = 10**400
numbers: Unchecked = (array, None, {}, HUGE)
names: Unchecked = (array, {}, len, ValueError())


class Attached:
    """A tensor of another library, which gives its elements only when it is detached."""

    def __array__(self, *ignored: object, **options: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        raise RuntimeError("detach it first")


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "an array for a way of reduction": (
        lambda: wg.cross_entropy(w, [0, 1], reduction=array),
        "ArgumentError: cross_entropy: reduction is 'mean', 'sum' or 'none', got array(",
    ),
    "an array for an approximation": (
        lambda: wg.gelu(w, approximate=array),
        "ArgumentError: gelu: approximate is 'none' or 'tanh', got array(",
    ),
    "an array for a dimension": (
        lambda: wg.literal(array, array, 3),
        "ArgumentError: literal: a dimension is an int, or a class or NewType of int that names it; got array(",
    ),
    "a number to register": (
        lambda: wg.register(5),
        "ArgumentError: register: expected a class, got 5; write @register(type(x)) for the class of a value",
    ),
    "a huge rate": (lambda: sgd(learning_rate=HUGE), "PluginError: SGD: learning_rate is 1000"),
    "a text for a rate": (lambda: sgd(learning_rate="abc"), "PluginError: SGD: learning_rate is 'abc'; "),
    "a truth value for a rate": (
        lambda: sgd(learning_rate=True),
        "PluginError: SGD: learning_rate is True; ",
    ),
    "a huge stride": (
        lambda: wg.conv2d(image, kernel, stride=HUGE),
        "ShapeError: conv2d: stride (1000",
    ),
    "a huge padding": (
        lambda: wg.conv2d(image, kernel, padding=HUGE),
        "ShapeError: conv2d: padding (1000",
    ),
    "another padding": (
        lambda: wg.conv2d(image, kernel, padding="a"),
        "ArgumentError: conv2d: padding is an int or a pair of ints; got 'a'",
    ),
    "a huge number around": (
        lambda: wg.pad(w, ((1, 1), (1, 1)), value=HUGE),
        "ArgumentError: pad: ",
    ),
    "indices that give no elements": (
        lambda: wg.take(w, Attached()),
        "ArgumentError: indices and labels are integers, a list of such or an array; ",
    ),
    "labels that give no elements": (
        lambda: wg.cross_entropy(w, Attached()),
        "ArgumentError: cross_entropy: indices and labels are integers, a list of such or an array; ",
    ),
    "None to gather": (
        lambda: wg.gather(None),
        "NotAwaitableError: argument 0 of gather is None (NoneType), ",
    ),
    "None for a file to write": (lambda: save(None, [w]), "ArgumentError: save: the path has to be "),
    "bytes for a file to write": (lambda: save(b"..", [w]), "ArgumentError: save: the path has to be "),
    "no name of a file": (lambda: save("a\0b", [w]), "CheckpointError: save: no file can have the path 'a"),
    "None for a file to read": (lambda: load(None, [w]), "ArgumentError: load: the path has to be "),
    "a name that is very long": (
        lambda: wg.matmul(settings.array_weight(array, name="x" * 10**6), ones(2, 2, dtype=np.float64)),
        "ShapeError: matmul: cannot multiply (2, 3) by (2, 2): inner dimensions 3 and 2 differ",
    ),
}


def corrected(x: Unchecked) -> tuple[Callable[[], object], str]:
    return (
        lambda: wg.var(w, correction=x),
        "ArgumentError: var: correction is a finite number, 0 or mostly 1; got ",
    )


def named(x: Unchecked) -> tuple[Callable[[], object], str]:
    return lambda: settings.double_weight(1.0, name=x), "ArgumentError: DoubleWeight: name is a str; got "


CASES |= {f"{x!r:.20} for a correction": corrected(x) for x in numbers}
CASES |= {f"{x!r:.20} for a name": named(x) for x in names}


ELSEWHERE: dict[str, tuple[Callable[[], object], str]] = {
    "dim of a sum": (
        lambda: wg.sum(w, dim=1),
        "ArgumentError: sum: the keyword is `axis`, not `dim`\n  at here",
    ),
    "keepdim of a mean": (
        lambda: wg.mean(w, axis=1, keepdim=True),
        "ArgumentError: mean: the keyword is `keepdims`, not `keepdim`\n  at here",
    ),
    "both": (
        lambda: wg.var(w, dim=1, keepdim=True),
        "ArgumentError: var: the keyword is `axis`, not `dim` and `keepdims`, not `keepdim`\n  at here",
    ),
    "dim of a softmax": (
        lambda: wg.softmax(w, dim=1),
        "ArgumentError: softmax: the keyword is `axis`, not `dim`\n  at here",
    ),
    "dim of a concat": (
        lambda: wg.concat([w, w], dim=1),
        "ArgumentError: concat: the keyword is `axis`, not `dim`\n  at here",
    ),
    "an unknown keyword": (
        lambda: wg.sum(w, along=1),
        "ArgumentError: sum: no keyword 'along'; there are axis, keepdims\n  at here",
    ),
    "an axis without its keyword": (
        lambda: wg.softmax(w, 1),
        "ArgumentError: softmax: options are keywords; write softmax(x, axis=1)\n  at here",
    ),
    "two options without their keywords": (
        lambda: wg.sum(w, (0, 1), True),
        "ArgumentError: sum: options are keywords; write sum(x, axis=(0, 1), keepdims=True)\n  at here",
    ),
    "an axis of a concat without its keyword": (
        lambda: wg.concat([w, w], 1),
        "ArgumentError: concat: options are keywords; write concat(x, axis=1)\n  at here",
    ),
    "an axis of a variance without its keyword": (
        lambda: wg.var(w, 1),
        "ArgumentError: var: options are keywords; write var(x, axis=1)\n  at here",
    ),
    "two operands of a sum": (
        lambda: wg.sum(w, w),
        "ArgumentError: sum: takes one operand, got 2; its keywords: axis, keepdims\n  at here",
    ),
    "a shape in numbers": (
        lambda: wg.reshape(w, 3, 2),
        "ArgumentError: reshape: shape is one tuple; write reshape(x, (3, 2))\n  at here",
    ),
    "axes in numbers": (
        lambda: wg.permute_dims(w, 1, 0),
        "ArgumentError: permute_dims: axes is one tuple; write permute_dims(x, (1, 0))\n  at here",
    ),
    "a greater shape in numbers": (
        lambda: wg.broadcast_to(w, 4, 2, 3),
        "ArgumentError: broadcast_to: shape is one tuple; write broadcast_to(x, (4, 2, 3))\n  at here",
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_calls_of_other_libraries_say_what_to_write(name: str) -> None:
    action, text = ELSEWHERE[name]
    assert said(action) == text


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_on_that_line_with_few_words(name: str) -> None:
    action, beginning = CASES[name]
    text = said(action)
    assert text.startswith(beginning)
    assert text.splitlines()[-1] == "  at here"
    assert len(text) < 600


def test_an_expression_goes_through_plain_pickle() -> None:
    copy: Unchecked = pickle.loads(pickle.dumps(w * 2.0))
    assert np.array_equal(copy.predict().run(), w.data * 2.0)
