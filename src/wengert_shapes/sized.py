"""Overloads by shape of operations that compute with sizes: reshape, index, windows, sums over letters, losses.

Knows: pyrefly's integers, of which a formula in a type is computed, and that a name in a shape is a type of its own.
Refuses to know: where the overloads go, and layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations, product
from typing import Final

from wengert_shapes import contraction, windows
from wengert_shapes.algebra import ONE
from wengert_shapes.checks import misfit
from wengert_shapes.overloads import (
    INTEGERS,
    LETTERS,
    RANKS,
    RAW,
    UNKNOWN,
    WIDE,
    dim_text,
    meetings,
    named,
    of_one,
    overload,
    permuted,
    raw_pairs,
    reductions,
    shape_text,
    sliding,
    variables_of,
)


def convolutions() -> list[str]:
    """Overloads of `conv2d`: sizes of images are pyrefly's integers, with which the rule's own formula computes."""
    height, width, rows, columns, stride, padding = named("HWRCSP")
    batch, inputs, outputs = named("BIO")
    image, kernel = (batch, inputs, height, width), (outputs, inputs, rows, columns)
    result = windows.convolved(image, kernel, (stride, stride), (padding, padding), (ONE, ONE))
    integers = {str(n): f"Int[{n}]" for n in (height, width, rows, columns)}
    x, w = (f"tuple[{', '.join(integers.get(str(n), str(n)) for n in shape)}]" for shape in (image, kernel))
    names = "B_: int, I_: int, O_: int, T_: Any, V_: Any"
    counted = f"{', '.join(f'{letter}_: IntVar' for letter in 'HWRCSP')}, {names}"
    strides = "stride: Int[S_] = 1, padding: Int[P_] = 0"
    operands = "x: {}, kernel: {}, /, *, {}"
    array, made = "ArrayOperand[{}, T_, V_]", "ArrayLayer[{}, T_, V_]"
    known = overload(
        "conv2d",
        operands.format(array.format(x), array.format(w), strides),
        made.format(sliding(result)),
        counted,
    )
    unknown, anything = array.format(UNKNOWN), f"{array.format('Any')} | {RAW}"
    strides = "stride: Any = 1, padding: int | tuple[int, int] = 0, dilation: Any = 1"
    grouped = overload(
        "conv2d", operands.format(anything, anything, f"{strides}, groups: int"), made.format("Any")
    )
    sides = operands.format(
        array.format("tuple[B_, I_, H_, W_]"), array.format("tuple[O_, I_, Any, Any]"), strides
    )
    pairs = [(unknown, anything), (anything, unknown), (RAW, anything), (anything, RAW)]
    open_ = [overload("conv2d", operands.format(*pair, strides), made.format("Any")) for pair in pairs]
    images = overload("conv2d", sides, made.format("tuple[B_, O_, Any, Any]"), f"H_: int, W_: int, {names}")
    return [grouped, *open_[:2], known, images, *open_[2:]]


def reshapes() -> list[str]:
    """Overloads by where names stand in both shapes: between two names the numbers have one product."""
    made, unknown = "ArrayLayer[{}, T_, V_]", f"x: ArrayOperand[{UNKNOWN}, T_, V_], /, shape: Any"
    found = [overload("reshape", unknown, made.format("Any"))]
    refused: list[str] = []  # last, or a number that nobody knows would be a name there
    for old, new in product(_places(), repeat=2):
        if old.count("n") == new.count("n"):
            for text in _reshaped(old, new):
                (refused if "fewer_elements" in text else found).append(text)
    anything = f"x: ArrayOperand[Any, T_, V_] | {RAW}, /, shape: {{}}"
    for shape in WIDE:  # of more axes only how many there are, and what is asked for
        found.append(overload("reshape", anything.format(shape.replace("Any", "int")), made.format(shape)))
    wide = " | ".join(f"ArrayOperand[{shape}, T_, V_]" for shape in WIDE)
    rest = overload("reshape", anything.format("int | tuple[int, ...]"), made.format("Any"))
    return [*found, *refused, *_stated("reshape", wide, "-cn"), rest]


def _stated(name: str, x: str, kinds: str) -> list[str]:
    """Overloads by the shape that is asked for, of -1, numbers and names, as in "-cn"."""
    forms = {"c": "Int[{}_]", "n": "{}_", "-": "Literal[-1]"}
    found = []
    for places in (places for rank in RANKS for places in product(kinds, repeat=rank)):
        if places.count("-") < 2:
            pairs = list(zip(LETTERS, places, strict=False))
            asked = ", ".join(forms[place].format(n) for n, place in pairs)
            made = ", ".join("Any" if place == "-" else forms[place].format(n) for n, place in pairs)
            names = [f"{n}_: {'IntVar' if place == 'c' else 'int'}" for n, place in pairs if place != "-"]
            variables = ", ".join([*names, "T_: Any", "V_: Any"])
            result = f"ArrayLayer[tuple[{made}], T_, V_]"
            found.append(overload(name, f"x: {x}, /, shape: tuple[{asked}]", result, variables))
    return found


def permutes() -> list[str]:
    """Overloads of `permute_dims`, which of more than four axes keeps their number."""
    found = of_one("permute_dims", permuted(), "axes: tuple[int, ...]")
    for shape in WIDE:
        parameters = f"x: ArrayOperand[{shape}, T_, V_], /, axes: {shape.replace('Any', 'int')}"
        found.append(overload("permute_dims", parameters, f"ArrayLayer[{shape}, T_, V_]"))
    return found


def broadcasts() -> list[str]:
    """Overloads of `broadcast_to`, whose result has the shape that is asked for."""
    x = f"ArrayOperand[Any, T_, V_] | {RAW}"
    rest = overload("broadcast_to", f"x: {x}, /, shape: tuple[int, ...]", "ArrayLayer[Any, T_, V_]")
    return [*_stated("broadcast_to", x, "cn"), rest]


def _places() -> list[str]:
    """Names and numbers in a shape of one to four axes, as in "nc"."""
    return ["".join(places) for rank in RANKS for places in product("nc", repeat=rank)]


def _reshaped(old: str, new: str) -> Iterator[str]:
    """Overloads for one pair of places, and for -1 instead of a number."""
    parts = list(zip(old.split("n"), new.split("n"), strict=True))
    if any(before and not after for before, after in parts):  # numbers that go: they are 1
        yield _reshape(parts, None, ones=True)
        yield _reshape(parts, None, refused=True)
        return
    for left_open in (*(i for i, place in enumerate(new) if place == "c"), None):  # -1 is a number as well
        yield _reshape(parts, left_open)


def _reshape(
    parts: Sequence[tuple[str, str]], left_open: int | None, ones: bool = False, refused: bool = False
) -> str:
    """One overload; each part has the numbers before a name in the old and in the new shape."""
    given: list[str] = []
    asked: list[str] = []
    made: list[str] = []
    variables = ["T_: Any", "V_: Any"]
    for k, (before, after) in enumerate(parts):
        if k:
            name = f"{LETTERS[k - 1]}_"
            variables.append(f"{name}: int")
            for shape in (given, asked, made):
                shape.append(name)
        gone = ones and before and not after
        old = [f"W{len(given) + i}" for i in range(len(before))]
        new = [f"N{len(asked) + i}" for i in range(len(after))]
        given += ["Literal[1]" if gone else f"Int[{n}]" for n in old]
        variables += [f"{n}: IntVar" for n in old if not gone]
        solved = next((n for n in new if n == f"N{left_open}"), None)
        others = [n for n in new if n != solved][: None if solved else -1]
        variables += [f"{n}: IntVar" for n in new if n != solved]
        whole, rest = (" * ".join(names) or "1" for names in (old, others))
        for n in new:
            asked.append("Literal[-1]" if n == solved else f"Int[{n}]")
            if n == solved:
                made.append(f"Int[({whole}) // ({rest})]")
            elif n == new[-1] and solved is None:
                made.append(f"elements(Int[{whole}], Int[{rest} * {n}], Int[{n}])")
            else:
                made.append(f"Int[{n}]")
    parameters = f"x: ArrayOperand[tuple[{', '.join(given)}], T_, V_], /, shape: tuple[{', '.join(asked)}]"
    result = misfit("fewer_elements") if refused else f"ArrayLayer[tuple[{', '.join(made)}], T_, V_]"
    return overload("reshape", parameters, result, ", ".join(variables))


_WHOLE: Final = "slice[None, None, None]"
_CUTS: Final = {  # how an axis of N is cut, and what is left
    "slice[Literal[-1], None, None]": "Int[1]",
    "slice[None, Literal[-1], None]": "Int[N - 1]",
    "slice[Int[L], None, None]": "Int[N - L]",
    "slice[None, Int[R], None]": "Int[R]",
    "slice[Int[L], Int[R], None]": "Int[R - L]",
}


def items() -> list[str]:
    """Overloads by keys of whole slices and integers, of new axes, and of one slice with bounds."""
    made, unknown = "ArrayLayer[{}, T_, V_]", "self: ArrayOperand[{}, T_, V_], key: Any, /"
    found = [overload("__getitem__", unknown.format(UNKNOWN), made.format("Any"))]
    for rank in RANKS:
        shape = list(map(dim_text, named(LETTERS[:rank])))
        keys: dict[tuple[str, ...], None] = {}
        for count in range(1, rank + 1):
            keys |= dict.fromkeys(product((_WHOLE, "int"), repeat=count))
            for at, cut in product(range(count), _CUTS):
                keys[(*[_WHOLE] * at, cut, *[_WHOLE] * (count - at - 1))] = None
        for total in range(rank + 1, 5):
            for new in combinations(range(total), total - rank):
                keys[tuple("None" if i in new else _WHOLE for i in range(total))] = None
        found += [_counted_item(rank, axis) for axis in range(1, rank)]
        found += [_item(shape, key) for key in keys]
    return [*found, overload("__getitem__", unknown.format("Any"), made.format("Any"))]


def _counted_item(rank: int, axis: int) -> str:
    """An index on an axis of known length, after whole axes of which the first is a number, too."""
    given = ["Int[L]", *(f"{n}_" for n in LETTERS[1:rank])]
    given[axis] = "Int[N]"
    left = ["within(Int[L], Int[N], Int[R + 1])", *given[1:axis], *given[axis + 1 :]]
    names = [f"{n}: int" for n in given if not n.startswith("Int")]
    key = ", ".join([*[_WHOLE] * axis, "Int[R]"])
    parameters = f"self: ArrayOperand[tuple[{', '.join(given)}], T_, V_], key: tuple[{key}], /"
    variables = ", ".join([*names, "L: IntVar", "N: IntVar", "R: IntVar", "T_: Any", "V_: Any"])
    return overload("__getitem__", parameters, f"ArrayLayer[tuple[{', '.join(left)}], T_, V_]", variables)


def _item(shape: Sequence[str], key: Sequence[str]) -> str:
    given, left = [], []
    axes = iter(shape)
    for part in key:
        axis = "Literal[1]" if part == "None" else next(axes)
        if part != "None":
            given.append("Int[N]" if part in _CUTS else axis)
        if part != "int":
            left.append(_CUTS.get(part, axis))
    rest = list(axes)
    text = f"tuple[{', '.join(key)}]" + f" | {key[0]}" * (len(key) == 1)
    names = [f"{n}: int" for n in (*given, *rest) if not n.startswith("Int")]
    bounds = [f"{n}: IntVar" for n in "NLR" if any(f"Int[{n}]" in x for x in (*given, *key))]
    parameters = f"self: ArrayOperand[tuple[{', '.join([*given, *rest])}], T_, V_], key: {text}, /"
    result = f"ArrayLayer[tuple[{', '.join([*left, *rest]) or '()'}], T_, V_]"
    return overload("__getitem__", parameters, result, ", ".join([*names, *bounds, "T_: Any", "V_: Any"]))


def pools(name: str) -> list[str]:
    """Overloads of a pooling: images of which the sides are numbers, with a stride or without."""
    x = "ArrayOperand[tuple[B_, C_, Int[H_], Int[W_]], T_, V_]"
    names = "B_: int, C_: int, T_: Any, V_: Any, H_: IntVar, W_: IntVar, K_: IntVar, P_: IntVar"
    height, width, size, stride, padding = named("HWKSP")
    batch, channels = named("BC")
    image = (batch, channels, height, width)
    found = [
        overload(
            name, f"x: ArrayOperand[{UNKNOWN}, T_, V_], /, size: Any, **more: Any", "ArrayLayer[Any, T_, V_]"
        )
    ]
    for step, more, variables in (
        (size, "stride: None = None", ""),
        (stride, "stride: Int[S_]", ", S_: IntVar"),
    ):
        result = windows.pooled(image, (size, size), (step, step), (padding, padding), (ONE, ONE))
        made = f"ArrayLayer[{sliding(result)}, T_, V_]"
        parameters = f"x: {x}, /, size: Int[K_], *, {more}, padding: Int[P_] = 0"
        found.append(overload(name, parameters, made, names + variables))
    more = "stride: Any = ..., padding: int | tuple[int, int] = 0, dilation: Any = 1"
    images = f"x: ArrayOperand[tuple[B_, C_, Any, Any], T_, V_], /, size: Any, *, {more}"
    found.append(
        overload(
            name, images, "ArrayLayer[tuple[B_, C_, Any, Any], T_, V_]", "B_: int, C_: int, T_: Any, V_: Any"
        )
    )
    return [*found, overload(name, f"x: {RAW}, /, size: Any, **more: Any", "ArrayLayer[Any, T_, V_]")]


def lines(name: str) -> list[str]:
    """Overloads of an operation along one axis, which the shape has."""
    made = "ArrayLayer[{}, T_, V_]"
    found = [overload(name, f"x: ArrayOperand[{UNKNOWN}, T_, V_], /, *, axis: int = -1", made.format("Any"))]
    for rank in RANKS:
        axes = ", ".join(map(str, range(-rank, rank)))
        shape = named(LETTERS[:rank])
        parameters = f"x: ArrayOperand[{shape_text(shape)}, T_, V_], /, *, axis: Literal[{axes}] = -1"
        found.append(overload(name, parameters, made.format(shape_text(shape)), variables_of([shape])))
    return [*found, overload(name, f"x: {RAW}, /, *, axis: int = -1", made.format("Any"))]


def tensordots() -> list[str]:
    """Overloads by how many axes are summed over."""
    function = "a: ArrayOperand[{}, T_, V_], b: ArrayOperand[{}, T_, V_], /, *, axes: "
    pairs = [(UNKNOWN, "Any"), ("Any", UNKNOWN)]
    found = [
        overload("tensordot", function.format(*pair) + "Any = 2", "ArrayLayer[Any, T_, V_]") for pair in pairs
    ]
    for a, b, count in product(RANKS, RANKS, range(4)):
        if count <= min(a, b) and a + b - 2 * count <= 4:
            left, right = named("ABCD"[:a]), named("KLMN"[:b])
            right = left[a - count :] + right[count:]
            result = contraction.tensordot(left, right, count)
            text = (
                function.format(shape_text(left), shape_text(right))
                + f"Literal[{count}]"
                + " = 2" * (count == 2)
            )
            found.append(
                overload(
                    "tensordot",
                    text,
                    f"ArrayLayer[{shape_text(result)}, T_, V_]",
                    variables_of([left, right]),
                )
            )
    found.append(
        overload("tensordot", function.format("Any", "Any") + "tuple[Any, Any]", "ArrayLayer[Any, T_, V_]")
    )
    return [*found, *raw_pairs("tensordot", "", "ArrayLayer[Any, T_, V_]", ", *, axes: Any = 2")]


def takes() -> list[str]:
    """Overloads by axis and by how many axes the indices have; how many there are is known of a list in the call."""
    indices = {
        "int": [],
        "IntListLiteral[Is_]": ["how_many(Is_)"],
        f"list[int] | np.ndarray[tuple[Any], {INTEGERS}]": ["Any"],
        f"np.ndarray[tuple[Any, Any], {INTEGERS}]": ["Any", "Any"],
    }
    anything = f"x: {{}}, {_INDICES}"
    unknown = f"ArrayOperand[{UNKNOWN}, T_, V_]"
    found = [overload("take", anything.format(unknown), "ArrayLayer[Any, T_, V_]")]
    for rank in (1, 2, 3):
        shape = named(LETTERS[:rank])
        for axis, (given, made) in product(range(-rank, rank), indices.items()):
            left = list(map(dim_text, shape))
            left[axis % rank : axis % rank + 1] = made
            x = f"x: ArrayOperand[{shape_text(shape)}, T_, V_]"
            parameters = f"{x}, indices: {given}, /, *, axis: Literal[{axis}]" + " = 0" * (axis == 0)
            result = f"ArrayLayer[tuple[{', '.join(left) or '()'}], T_, V_]"
            variables = "Is_: IntTuple, " * ("Is_" in given) + variables_of([shape])
            found.append(overload("take", parameters, result, variables))
    rest = f"ArrayOperand[Any, T_, V_] | {RAW}"
    return [*found, overload("take", anything.format(rest), "ArrayLayer[Any, T_, V_]")]


_INDICES: Final = "indices: IndexExpression, /, *, axis: int = 0"


def labels() -> list[str]:
    """Overloads of `cross_entropy`: labels of numpy have an axis less than the logits, as long as theirs."""
    means, each = 'reduction: Literal["mean", "sum"] = "mean"', 'reduction: Literal["none"]'
    last, other = "axis: Literal[-1] = -1", "axis: int"
    along = [
        overload("cross_entropy", f"{_ANY_LABELS}{other}, {_OPTIONS}, {how}", made) for how, made in _REDUCED
    ]
    return [
        *along,
        *_losses(f"{last}, {_OPTIONS}, {means}", "tuple[()]"),
        *_losses(f"{last}, {_OPTIONS}, {each}", None),
    ]


_REDUCED: Final = (
    ('reduction: Literal["mean", "sum", "batchmean"] = "mean"', "ArrayLayer[tuple[()], T_, V_]"),
    ('reduction: Literal["none"]', "ArrayLayer[Any, T_, V_]"),
)
_ANY_LABELS: Final = f"logits: ArrayOperand[Any, T_, V_] | {RAW}, labels: IndexExpression, /, *, "
_OPTIONS: Final = "weight: Any = None, ignore_index: int | None = None, label_smoothing: float = 0.0"


def pairs(name: str) -> list[str]:
    """Overloads of a loss of predictions and targets of one shape: a number, or a loss for each element."""
    loss = "x0: {}, x1: {}, /, *, {}, **options: Any"
    array, made = "ArrayOperand[{}, T_, V_]", "ArrayLayer[{}, T_, V_]"
    every = f"ArrayOperand[Any, T_, V_] | {RAW}"
    ranks = {rank: array.format(f"tuple[{', '.join(['Any'] * rank) or '()'}]") for rank in range(5)}
    found = []
    for how, result in _REDUCED:
        for pair in ((UNKNOWN, "Any"), ("Any", UNKNOWN)):
            found.append(overload(name, loss.format(*map(array.format, pair), how), result))
        each = result if "()" in result else made.format("Q_")
        alike = (array.format("Q_"), array.format("Q_"))
        variables = "Q_: tuple[Any, ...], T_: Any, V_: Any"
        found.append(overload(name, loss.format(*alike, how), each, variables))
        for one, two in permutations(ranks, 2):
            refused = misfit("targets_of_another_rank")
            found.append(overload(name, loss.format(ranks[one], ranks[two], how), refused))
        found.append(overload(name, loss.format(every, every, how), result))
    return found


def several(name: str, count: int) -> list[str]:
    """Overloads of another loss of arrays, of which only the reduction is known."""
    operands = ", ".join(f"x{i}: ArrayOperand[Any, T_, V_] | {RAW}" for i in range(count))
    return [overload(name, f"{operands}, /, *, {how}, **options: Any", made) for how, made in _REDUCED]


def _losses(reduction: str, made: str | None) -> Iterator[str]:
    """Overloads of one number, or of a loss for each label."""
    loss = f"logits: ArrayOperand[{{}}, T_, V_], labels: {{}}, /, *, {reduction}"
    result = f"ArrayLayer[{made or 'Any'}, T_, V_]"
    yield overload("cross_entropy", loss.format(UNKNOWN, "IndexExpression"), result)
    for rank in RANKS:
        for places in product("nc", repeat=rank - 1):
            yield _labelled(loss, places, made)
    for rank, axes in sorted(product(RANKS, RANKS), key=lambda pair: pair[0] != pair[1]):
        logits, given = (f"tuple[{', '.join(['Any'] * n) or '()'}]" for n in (rank, axes - 1))
        answer = result if rank == axes else misfit("labels_of_another_rank")
        yield overload("cross_entropy", loss.format(logits, f"np.ndarray[{given}, {INTEGERS}]"), answer)
    yield overload("cross_entropy", loss.format("Any", "IndexExpression"), result)
    yield overload("cross_entropy", f"logits: {RAW}, labels: IndexExpression, /, *, {reduction}", result)


def _labelled(loss: str, places: Sequence[str], made: str | None) -> str:
    """Labels whose axes have names and numbers in these places."""
    logits, given, variables = [], [], ["K_: int", "T_: Any", "V_: Any"]
    for letter, place in zip(LETTERS, places, strict=False):
        logits.append(f"{letter}_" if place == "n" else f"Int[{letter}_]")
        given.append(f"{letter}_" if place == "n" else f"Int[{letter}L]")
        variables += [f"{letter}_: int"] if place == "n" else [f"{letter}_: IntVar", f"{letter}L: IntVar"]
    counted = [letter for letter, place in zip(LETTERS, places, strict=False) if place == "c"]
    pairs = ", ".join(f"Int[{n}_], Int[{n}L]" for n in (counted * 3)[:3])
    each = f"tuple[{', '.join(logits) or '()'}]"
    result = f"labelled({pairs})" if counted and made else made or each
    parameters = loss.format(
        f"tuple[{', '.join([*logits, 'K_'])}]", f"np.ndarray[tuple[{', '.join(given) or '()'}], {INTEGERS}]"
    )
    return overload("cross_entropy", parameters, f"ArrayLayer[{result}, T_, V_]", ", ".join(variables))


def sums(texts: Iterable[str]) -> list[str]:
    """Overloads of `einsum` for these texts: equal letters are equal sizes."""
    found = []
    for text in texts:
        terms, out = contraction.parsed(text, text.count(",") + 1)
        if contraction.DOTS in "".join(terms):
            continue
        sizes = {letter: f"{letter}_" for letter in dict.fromkeys("".join(terms))}
        operands = [f"ArrayOperand[{_letters(term)}, T_, V_]" for term in terms]
        variables = ", ".join([*(f"{n}: int" for n in sizes.values()), "T_: Any", "V_: Any"])
        for i in range(len(terms)):
            raw = [f"ArrayOperand[{UNKNOWN if i == j else 'Any'}, T_, V_] | {RAW}" for j in range(len(terms))]
            found.append(_summed(text, raw, "ArrayLayer[Any, T_, V_]"))
        found.append(_summed(text, operands, f"ArrayLayer[{_letters(out)}, T_, V_]", variables))
        refused = misfit("letters")
        found.append(overload("einsum", f'spec: Literal["{text}"], /, *xs: Any', refused))
    anything = f"spec: str, /, *xs: ArrayOperand[Any, T_, V_] | {RAW}"
    return [*found, overload("einsum", anything, "ArrayLayer[Any, T_, V_]")]


def _letters(term: str) -> str:
    return f"tuple[{', '.join(f'{letter}_' for letter in term) or '()'}]"


def _summed(text: str, operands: Sequence[str], result: str, variables: str = "T_: Any, V_: Any") -> str:
    given = ", ".join(f"x{i}: {x}" for i, x in enumerate(operands))
    return overload("einsum", f'spec: Literal["{text}"], {given}, /', result, variables)


def choices() -> list[str]:
    """Overloads of `where`: a mask with an array, and a number or an array of one shape for the rest."""
    scalar = "ScalarOperand[T_] | T_ | float"
    mask, array = "Mask[{0}, V_]", "ArrayOperand[{1}, T_, V_]"
    made = "ArrayLayer[{}, T_, V_]"
    forms = [
        f"condition: {mask}, a: {array}, b: {scalar}, /",
        f"condition: {mask}, a: {scalar}, b: {array}, /",
        f"condition: {mask}, a: {array}, b: {array}, /",
    ]
    alike = "Q_: tuple[Any, ...], T_: np.floating[Any], V_: Any"
    found = []
    for form in forms:
        for pair in ((UNKNOWN, "Any"), ("Any", UNKNOWN)):
            found.append(overload("where", form.format(*pair), made.format("Any")))
        found.append(overload("where", form.format("Q_", "Q_"), made.format("Q_"), alike))
    for operands, _, result in meetings():
        for form in forms:
            parameters = form.format(*map(shape_text, operands))
            found.append(
                overload("where", parameters, made.format(shape_text(result)), variables_of(operands))
            )
    refused = misfit("mask")
    found += [overload("where", form.format("Any", "Any"), refused) for form in forms]
    anything = f"ArrayOperand[Any, T_, V_] | {RAW}"
    for a, b in ((anything, f"{anything} | {scalar}"), (scalar, anything)):
        found.append(overload("where", f"condition: Any, a: {a}, b: {b}, /", made.format("Any")))
    return found


def along() -> list[str]:
    """Overloads of `take_along_axis`, whose indices have as many axes as the array."""
    call = "x: ArrayOperand[{}, T_, V_], indices: {}, /, *, axis: int = -1"
    found = [overload("take_along_axis", call.format(UNKNOWN, "IndexExpression"), "ArrayLayer[Any, T_, V_]")]
    last = []
    for rank, axes in product(RANKS, RANKS):
        x, indices = (f"tuple[{', '.join(['Any'] * n)}]" for n in (rank, axes))
        if rank == axes:
            given = f"np.ndarray[{indices}, {INTEGERS}] | Indices[{indices}, V_]"
            found.append(overload("take_along_axis", call.format(x, given), f"ArrayLayer[{x}, T_, V_]"))
        else:
            given = f"np.ndarray[{indices}, {INTEGERS}] | Indices[{indices}, V_]"
            last.append(overload("take_along_axis", call.format(x, given), misfit("indices_of_another_rank")))
    anything = f"x: ArrayOperand[Any, T_, V_] | {RAW}, indices: IndexExpression, /, *, axis: int = -1"
    return [*found, *last, overload("take_along_axis", anything, "ArrayLayer[Any, T_, V_]")]


def chosen() -> list[str]:
    """Overloads of `top_k`: the axis, which is as long as k at least, gets the size k."""
    both = "tuple[ArrayLayer[{0}, T_, V_], Indices[{0}, V_]]"
    unknown = f"x: ArrayOperand[{UNKNOWN}, T_, V_] | {RAW}, k: int, /, *, axis: int = -1"
    found = [overload("top_k", unknown, both.format("Any"))]
    for rank in RANKS:
        for axis in range(-rank, rank):
            given = list(map(dim_text, named(LETTERS[:rank])))
            names = [f"{n}: int" for i, n in enumerate(given) if i != axis % rank]
            made = list(given)
            given[axis % rank], made[axis % rank] = "Int[N]", "within(Int[K], Int[N], Int[K])"
            stated = f"axis: Literal[{axis}]" + " = -1" * (axis == -1)
            parameters = f"x: ArrayOperand[tuple[{', '.join(given)}], T_, V_], k: Int[K], /, *, {stated}"
            variables = ", ".join([*names, "N: IntVar", "K: IntVar", "T_: Any", "V_: Any"])
            found.append(overload("top_k", parameters, both.format(f"tuple[{', '.join(made)}]"), variables))
    anything = "x: ArrayOperand[Any, T_, V_], k: int, /, *, axis: int = -1"
    return [*found, overload("top_k", anything, both.format("Any"))]


def places() -> list[str]:
    """Overloads of `argmax`, which are those of a reduction, with places for elements."""
    found = []
    for (x,), others, result in reductions():
        if "tuple" not in others:  # one axis
            parameters = f"x: ArrayOperand[{shape_text(x)}, T_, V_], /, {others}"
            found.append(
                overload("argmax", parameters, f"Indices[{shape_text(result)}, V_]", variables_of([x]))
            )
    anything = f"x: ArrayOperand[{{}}, T_, V_] | {RAW}, /, *, axis: int | None = None, keepdims: bool = False"
    first, last = (overload("argmax", anything.format(x), "Indices[Any, V_]") for x in (UNKNOWN, "Any"))
    return [first, *found, last]


def updates() -> list[str]:
    """Overloads of `with_update`: the value has the shape of the buffer."""
    call = "x: ArrayOperand[Q_, T_, V_], buffer: Buffer[{}, B_, V_], value: {}, /, *, rate: float = 1.0"
    variables = "Q_: tuple[Any, ...], B_: Any, T_: Any, V_: Any"
    made = "ArrayLayer[Q_, T_, V_]"
    found = []
    for pair in ((UNKNOWN, "Any"), ("Any", UNKNOWN)):
        given = call.format(pair[0], f"ArrayOperand[{pair[1]}, B_, V_]")
        found.append(overload("with_update", given, made, variables))
    for rank in range(5):
        shape = shape_text(named(LETTERS[:rank]))
        names = "".join(f"{n}_: int, " for n in LETTERS[:rank])
        given = call.format(shape, f"ArrayOperand[{shape}, B_, V_]")
        found.append(overload("with_update", given, made, names + variables))
    raw = call.format("Any", f"{RAW.replace('T_', 'B_')} | ScalarOperand[B_] | float")
    found.append(overload("with_update", raw, made, variables))
    data = f"x: {RAW}, buffer: Buffer[Any, Any, Any], value: Any, /, *, rate: float = 1.0"
    return [*found, overload("with_update", data, "ArrayLayer[Any, T_, V_]")]


def scans() -> list[str]:
    """Overloads of `scan` for a cell of one input and one output, each with up to three axes."""
    step = "cell: Callable[[S_, ArrayLayer[{}, T_, V_]], tuple[S_, {}]], init: S_, xs: {}, /"
    array, any_array = "ArrayLayer[{}, T_, V_]", f"ArrayOperand[Any, T_, V_] | {RAW}"
    names = "S_: Any, T_: Any, V_: Any"
    unknown = [(UNKNOWN, "Any", any_array), ("Any", "Any", f"ArrayOperand[{UNKNOWN}, T_, V_] | {RAW}")]
    found = [
        overload("scan", step.format(x, array.format(y), xs), f"tuple[S_, {array.format('Any')}]", names)
        for x, y, xs in unknown
    ]
    for inputs, outputs in product(range(4), repeat=2):
        x, y = named("ABC"[:inputs]), named("KLM"[:outputs])
        given, made = shape_text(x), shape_text(y)
        xs, ys = (shape_text((*named("N"), *shape)) for shape in (x, y))
        parameters = step.format(given, array.format(made), f"ArrayOperand[{xs}, T_, V_]")
        result = f"tuple[S_, {array.format(ys)}]"
        found.append(overload("scan", parameters, result, f"S_: Any, N_: int, {variables_of([x, y])}"))
    structure = step.format("Any", "tuple[Any, ...] | Structure", any_array)
    return [*found, overload("scan", structure, "tuple[S_, Any]", names)]


def parts() -> list[str]:
    """Overloads of `split` into equal parts."""
    found = [
        overload(
            "split",
            f"x: ArrayOperand[{UNKNOWN}, T_, V_] | {RAW}, sections: Any, /, *, axis: int = 0",
            "tuple[ArrayLayer[Any, T_, V_], ...]",
        )
    ]
    for rank in RANKS:
        for axis in range(-rank, rank):
            shape = list(map(dim_text, named(LETTERS[:rank])))
            names = [f"{n}: int" for i, n in enumerate(shape) if i != axis % rank]
            left = list(shape)
            shape[axis % rank], left[axis % rank] = "Int[W]", "parted(Int[W], Int[W // P * P], Int[W // P])"
            x = f"x: ArrayOperand[tuple[{', '.join(shape)}], T_, V_]"
            parameters = f"{x}, sections: Int[P], /, *, axis: Literal[{axis}]"
            result = f"tuple[ArrayLayer[tuple[{', '.join(left)}], T_, V_], ...]"
            variables = ", ".join([*names, "W: IntVar", "P: IntVar", "T_: Any", "V_: Any"])
            found.append(overload("split", parameters + " = 0" * (axis == 0), result, variables))
    anything = "x: ArrayOperand[Any, T_, V_], sections: Any, /, *, axis: int = 0"
    return [*found, overload("split", anything, "tuple[ArrayLayer[Any, T_, V_], ...]")]
