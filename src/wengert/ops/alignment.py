"""`ctc_loss`: the likelihood of a text, wherever in a signal its letters stand.

Knows: the recursion over the steps of a signal, in logarithms, on all examples of a batch at once.
Refuses to know: how a text is read out of the probabilities: that is a search.
"""

from __future__ import annotations

from typing import Any, Final

from wengert.arrays import HOST, INTEGER, Dv, T, Value, is_array, is_integer, within
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.graph.detached import IndexExpression
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.index import indices
from wengert.graph.operand import operand, shown
from wengert.ops.arithmetic import add, divide
from wengert.ops.classification import Reduced, reduced_loss
from wengert.ops.comparison import where
from wengert.ops.families import composed
from wengert.ops.indexing import getitem, take_along_axis
from wengert.ops.joining import concat, stack
from wengert.ops.kinds import ruled, shape_of_operand
from wengert.ops.reduction import logsumexp
from wengert_shapes import losses as rules

_NEVER: Final = -1e30  # the logarithm of a probability of 0; not -inf, of which differences are NaN


@composed
def ctc_loss(
    logs: ArrayExpression[Any, T, Dv],
    targets: IndexExpression,
    input_lengths: IndexExpression,
    target_lengths: IndexExpression,
    /,
    *,
    blank: int = 0,
    zero_infinity: bool = False,
    reduction: Reduced = "mean",
) -> ArrayLayer[Any, T, Dv]:
    """-log of the probability that a signal spells a text, over all ways to place its letters: connectionist CTC.

    `logs` are logarithms of probabilities of each class at each step; a way takes one class a step, and spells what is
    left when repeats are joined and blanks then dropped. The mean is that of the losses divided by the lengths of their
    texts, as in PyTorch. Steps and letters behind the lengths of an example count nothing. The recursion is one step of
    a graph after the other: to make it takes time in proportion to the number of steps.
    Derivative: -g times the probability, given the text, that a way takes the class at the step.
    Shapes: logs (time, batch, classes), targets (batch, letters), both lengths (batch,) to (); to (batch,) with
    reduction="none". Raises ShapeError; DTypeError for targets and lengths that are no integers; ArgumentError for a
    letter that is blank or no class, a length out of range, and a text that is longer than its signal can spell,
    unless `zero_infinity` makes its loss 0.
    >>> import numpy as np
    >>> logs = np.log(np.full((2, 1, 2), 0.5))
    >>> ctc_loss(logs, np.array([[1]]), np.array([2]), np.array([1])).predict().run().round(6).item()
    0.287682

    Source: A. Graves et al., "Connectionist Temporal Classification", 2006, section 4.1.
    """
    time, batch, classes = ruled(rules.signal, [shape_of_operand(logs)])
    if not is_integer(blank) or not 0 <= int(blank) < classes:
        raise ArgumentError(f"blank is one of {classes} classes; got {shown(blank)}")
    texts = _integers("targets", targets)
    ruled(rules.spelled, [(time, batch, classes), texts.shape])
    steps, letters = (
        _lengths("input", input_lengths, batch, time),
        _lengths("target", target_lengths, batch, texts.shape[1]),
    )
    texts = _checked(texts, letters, classes, int(blank))
    fits = _fits(texts, steps, letters)
    if not zero_infinity and not fits.all():
        i = int((~fits).argmax())
        raise ArgumentError(
            f"text {i} of {int(letters[i])} letters has no way through its {int(steps[i])} steps: each letter takes "
            f"one, and two equal ones a blank between; leave it out, or write zero_infinity=True"
        )
    each = _losses(logs, texts, steps, letters, int(blank))
    if not fits.all():
        each = where(fits, each, 0.0)
    if reduction == "mean":
        each = divide(each, HOST.astype(HOST.maximum(letters, 1), operand(logs)[1].dtype))
    return reduced_loss(each, reduction)


def _losses(logs: Value, texts: Value, steps: Value, letters: Value, blank: int) -> Value:
    """The loss of each example, by the recursion over `alpha`: logarithms of probabilities of prefixes with blanks."""
    time, batch, _ = shape_of_operand(logs)
    dtype = operand(logs)[1].dtype
    between = HOST.full(texts.shape, blank, INTEGER)
    spaced = HOST.reshape(HOST.stack([between, texts], axis=2), (batch, -1))
    spaced = HOST.concat([spaced, HOST.full((batch, 1), blank, INTEGER)], axis=1)
    places = spaced.shape[1]
    seen = take_along_axis(logs, HOST.broadcast_to(spaced, (time, batch, places)), axis=-1)
    two_before = HOST.concat([HOST.full((batch, min(2, places)), -1, INTEGER), spaced[:, :-2]], axis=1)
    # a blank between two letters may be left out where they are not equal
    leaps = HOST.astype((spaced == blank) | (spaced == two_before), dtype) * _NEVER
    column = HOST.full((batch, 2), _NEVER, dtype)
    begins = HOST.astype(HOST.mesh((1, places))[1] > 1, dtype) * _NEVER
    alpha: Value = add(getitem(seen, 0), begins)
    for t in range(1, time):
        ways = [alpha]
        if places > 1:
            once = concat([column[:, :1], getitem(alpha, (slice(None), slice(None, -1)))], axis=1)
            twice = concat([column, getitem(alpha, (slice(None), slice(None, -2)))], axis=1)
            ways += [once, add(twice, leaps)]
        after = add(logsumexp(stack(ways), axis=0), getitem(seen, t))
        alpha = after if (steps > t).all() else where(HOST.reshape(steps > t, (batch, 1)), after, alpha)
    ends = HOST.stack([letters * 2, HOST.maximum(letters * 2 - 1, 0)], axis=1)
    whole = take_along_axis(alpha, ends, axis=1)
    no_letter = HOST.reshape(letters == 0, (batch, 1)) & (HOST.mesh((1, 2))[1] > 0)  # it has one end, not two
    return -logsumexp(where(~no_letter, whole, _NEVER), axis=1)


def _integers(what: str, given: IndexExpression) -> Value:
    found: Value = indices(given)
    if not is_array(found):
        raise ArgumentError(
            f"{what} are an array of integers, known where the loss is written; got an expression"
        )
    if found.dtype.kind not in "iu":
        raise DTypeError(f"{what} are integers, got an array of {found.dtype}")
    return found


def _lengths(what: str, given: IndexExpression, batch: int, most: int) -> Value:
    found = _integers(f"{what} lengths", given)
    if found.shape != (batch,):
        raise ShapeError(f"expected one {what} length for each of {batch} examples, got shape {found.shape}")
    least = 1 if what == "input" else 0
    if not ((found >= least) & (found <= most)).all():
        raise ArgumentError(f"{what} lengths are from {least} to {most}, got {found.tolist()!s:.60}")
    return HOST.astype(found, INTEGER)


def _checked(texts: Value, letters: Value, classes: int, blank: int) -> Value:
    """The texts, with blanks behind their ends."""
    inside = HOST.mesh((1, texts.shape[1]))[1] < HOST.reshape(letters, (-1, 1))
    real = texts[inside]
    if not within(real, classes) or (real == blank).any():
        wrong = next(int(i) for i in real if not 0 <= i < classes or i == blank)
        raise ArgumentError(
            f"letter {wrong} is the blank"
            if wrong == blank
            else f"letter {wrong} is none of the {classes} classes"
        )
    return HOST.astype(HOST.where(inside, texts, blank), INTEGER)


def _fits(texts: Value, steps: Value, letters: Value) -> Value:
    """True for each example that has steps enough."""
    inside = HOST.mesh((1, texts.shape[1]))[1] < HOST.reshape(letters, (-1, 1))
    twins = (texts[:, 1:] == texts[:, :-1]) & inside[:, 1:]
    return letters + twins.sum(axis=1) <= steps
