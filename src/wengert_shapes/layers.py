"""Overloads by shape of the layers of `wengert.nn`: how they are made from numbers, and what they take and give.

Knows: which sizes a layer has, and which axes of its operand they are.
Refuses to know: where the overloads go, and the operations that a layer is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from wengert_shapes import windows
from wengert_shapes.overloads import INTEGERS, RAW, UNKNOWN, Site, named, overload, sliding

_LEADING: Final = ("", "A", "AB", "ABC")  # names of the axes before the last
_SETTINGS: Final = "seed: Seed = ..., name: str | None = None, dtype: Any = ..., **options: Any"
_SETTINGS_ALONE: Final = (
    "seed: Seed = ..., name: str | None = None, dtype: Any = ..., bias: bool = True, init: Any = None"
)
_LAYER: Final = "ArrayLayer[{}, T_, V_]"
_OPERAND: Final = "ArrayOperand[{}, T_, V_]"


def sites() -> Iterator[Site]:
    """All layers that have overloads."""
    for module, layer, sizes in (
        ("nn.linear", "Linear", "IO"),
        ("nn.normalization", "LayerNorm", "W"),
        ("nn.normalization", "BatchNorm", "W"),
        ("nn.normalization", "RMSNorm", "W"),
        ("nn.normalization", "InstanceNorm", "W"),
        ("nn.recurrent", "LSTMCell", "IH"),
        ("nn.recurrent", "GRUCell", "IH"),
        ("nn.recurrent", "RNNCell", "IH"),
        ("nn.embedding", "Embedding", "RW"),
        ("nn.attention", "MultiHeadAttention", "WN"),
    ):
        yield Site(module, f"{layer}.make", _made(layer, sizes))
    yield Site("nn.linear", "Linear.__call__", list(_along("Linear", "IO", "I", "O")))
    yield Site("nn.normalization", "LayerNorm.__call__", list(_along("LayerNorm", "W", "W", "W")))
    yield Site(
        "nn.normalization", "BatchNorm.__call__", list(_by_channel("BatchNorm", ", *, seed: Any = None"))
    )
    yield Site("nn.normalization", "RMSNorm.__call__", list(_along("RMSNorm", "W", "W", "W")))
    yield Site("nn.normalization", "InstanceNorm.__call__", list(_by_channel("InstanceNorm")))
    yield Site("nn.normalization", "GroupNorm.__call__", list(_by_channel("GroupNorm")))
    yield Site("nn.recurrent", "GRUCell.__call__", list(_cell("GRUCell", "{0}", "{0}")))
    yield Site(
        "nn.recurrent", "LSTMCell.__call__", list(_cell("LSTMCell", "tuple[{0}, {0}]", "tuple[{0}, {0}]"))
    )
    yield Site("nn.recurrent", "RNNCell.__call__", list(_cell("RNNCell", "{0}", "{0}")))
    for layer in ("GRU", "LSTM", "RNN"):
        yield Site("nn.unrolled", f"{layer}.make", _made_unrolled(layer))
    for layer in ("GRU", "RNN"):
        yield Site("nn.unrolled", f"{layer}.__call__", list(_unrolled(layer, "{0}")))
    yield Site("nn.unrolled", "LSTM.__call__", list(_unrolled("LSTM", "tuple[{0}, {0}]")))
    yield Site("nn.embedding", "Embedding.__call__", list(_looked_up()))
    yield Site("nn.attention", "MultiHeadAttention.__call__", list(_attended()))
    yield Site("nn.sequential", "Sequential.__init__", _chains())
    yield Site("nn.sequential", "Sequential.__call__", list(_chained()))
    for count, sides in enumerate(("W", "HW", "DHW"), start=1):
        yield Site("nn.convolution", f"Conv{count}d.make", _made_convolutions(f"Conv{count}d"))
        yield Site("nn.convolution", f"Conv{count}d.__call__", list(_convolved(f"Conv{count}d", sides)))


def _static(text: str) -> str:
    return text.replace("@overload", "@overload\n@staticmethod")


def _made(layer: str, sizes: str) -> list[str]:
    """`make` from numbers; from sizes that are no numbers, a layer of which nothing is known."""
    names = [f"{n.lower()}: Int[{n}_]" for n in sizes]
    unknown = [f"{n.lower()}: int" for n in sizes]
    known = f"{layer}[{', '.join(f'Int[{n}_]' for n in sizes)}]"
    if layer == "MultiHeadAttention":
        known = f"{layer}[parted(Int[W_], Int[W_ // N_ * N_], Int[W_]), Int[N_]]"
    variables = ", ".join(f"{n}_: IntVar" for n in sizes)
    start, end = "settings: Placing[Cpu], ", f", /, *, {_SETTINGS}"
    return [
        _static(overload("make", f"{start}{', '.join(names)}{end}", known, variables)),
        _static(
            overload(
                "make",
                f"{start}{', '.join(unknown)}{end}",
                f"{layer}[{', '.join(['Any'] * len(sizes))}]",
                "X_: Any",
            )
        ),
        _elsewhere(),
    ]


def _elsewhere() -> str:
    """`make` by settings that put weights on a device: nothing is known of what it makes."""
    return _static(overload("make", "settings: Placing[Any], *sizes: int, **options: Any", "Any", "X_: Any"))


def _made_unrolled(layer: str) -> list[str]:
    """`make` of one cell from numbers; nothing is known of several."""
    one = (
        "seed: Seed = ..., name: str | None = None, dtype: Any = ..., init: Any = ..., activation: Any = ..."
    )
    known = f"{layer}[Int[I_], Int[H_], Literal[1], Literal[1]]"
    start, variables = "settings: Placing[Cpu], i: Int[I_], h: Int[H_], /, *, ", "I_: IntVar, H_: IntVar"
    unknown = f"settings: Placing[Cpu], i: int, h: int, /, *, {_SETTINGS}"
    return [
        _static(overload("make", f"{start}{one}", known, variables)),
        _static(overload("make", unknown, "Any", "X_: Any")),
        _elsewhere(),
    ]


def _self(layer: str, sizes: str) -> str:
    return f"self: {layer}[{', '.join(f'{n}_' for n in sizes)}, T_, V_]"


def _any(layer: str, sizes: str) -> str:
    return f"self: {layer}[{', '.join(['Any'] * len(sizes))}, T_, V_]"


def _variables(names: str) -> str:
    return ", ".join([*(f"{n}_: int" for n in dict.fromkeys(names)), "T_: Any", "V_: Any"])


def _tuple(names: Sequence[str]) -> str:
    return f"tuple[{', '.join(n if n == 'Any' else f'{n}_' for n in names) or '()'}]"


def _call(parameters: str, result: str, variables: str = "T_: Any, V_: Any") -> str:
    return overload("__call__", parameters, result, variables)


def _around(owner: str, overloads: Sequence[str], result: str, more: str = ", /") -> Iterator[str]:
    """Between what is not known and what is raw."""
    yield _call(f"{owner}, x: {_OPERAND.format(UNKNOWN)}{more}", result.format(_LAYER.format("Any")))
    yield from overloads
    yield _call(f"{owner}, x: {RAW}{more}", result.format(_LAYER.format("Any")))


def _along(layer: str, sizes: str, taken: str, made: str) -> Iterator[str]:
    """A layer that reads the last axis."""
    found = []
    for before in _LEADING:
        x, y = (_tuple([*before, last]) for last in (taken, made))
        parameters = f"{_self(layer, sizes)}, x: {_OPERAND.format(x)}, /"
        found.append(_call(parameters, _LAYER.format(y), _variables(before + sizes)))
        counted = f"self: {layer}[{', '.join(f'Int[{n}_]' for n in sizes)}, T_, V_]"
        leading = "".join(f"{n}_, " for n in before)
        parameters = f"{counted}, x: {_OPERAND.format(f'tuple[{leading}Int[J_]]')}, /"
        y = f"tuple[{leading}expected(Int[{taken}_], Int[J_], Int[{made}_])]"
        integers = ", ".join(f"{n}_: IntVar" for n in f"{sizes}J")
        found.append(_call(parameters, _LAYER.format(y), f"{_variables(before)}, {integers}"))
    yield from _around(_any(layer, sizes), found, "{0}")


def _by_channel(layer: str, more: str = "") -> Iterator[str]:
    """A normalisation of axis 1."""
    found = []
    for axes in ("AW", "AWB", "AWBC"):
        parameters = f"{_self(layer, 'W')}, x: {_OPERAND.format(_tuple(axes))}, /{more}"
        found.append(_call(parameters, _LAYER.format(_tuple(axes)), _variables(axes)))
    yield from _around(_any(layer, "W"), found, "{0}", f", /{more}")


def _cell(layer: str, state: str, result: str) -> Iterator[str]:
    found = []
    for before in _LEADING:
        x, h = (_tuple([*before, last]) for last in "IH")
        given = f"{_self(layer, 'IH')}, x: {_OPERAND.format(x)}, "
        states = f"state: {state.format(_OPERAND.format(h))} | None = None, /"
        found.append(_call(given + states, result.format(_LAYER.format(h)), _variables(before + "IH")))
        rest = f"state: {state.format(f'{_OPERAND.format(UNKNOWN)} | {RAW}')}, /"
        found.append(_call(given + rest, result.format(_LAYER.format(h)), _variables(before + "IH")))
    yield from _around(_any(layer, "IH"), found, result, ", state: Any = None, /")


def _unrolled(layer: str, state: str) -> Iterator[str]:
    """All steps of one cell along the first axis: the outputs have it too, and the last state has not."""
    found, more = [], ", *, lengths: Any = None, seed: Any = None"
    one = f"self: {layer}[I_, H_, Literal[1], Literal[1], T_, V_]"
    any_number = f"self: {layer}[Any, Any, Any, Any, T_, V_]"
    for before in _LEADING[:-1]:
        x, y, h = (_tuple(axes) for axes in (["N", *before, "I"], ["N", *before, "H"], [*before, "H"]))
        variables = _variables(f"N{before}IH")
        made = f"tuple[{_LAYER.format(y)}, {state.format(_LAYER.format(h))}]"
        given = f"{one}, x: {_OPERAND.format(x)}, "
        states = f"h: {state.format(_OPERAND.format(h))} | None = None, /{more}"
        found.append(_call(f"{given}{states}", made, variables))
        rest = f"{given}h: {state.format(f'{_OPERAND.format(UNKNOWN)} | {RAW}')}, /{more}"
        found.append(_call(rest, made, variables))
    result = f"tuple[{{0}}, {state}]"
    yield from _around(any_number, found, result, f", h: Any = None, /{more}")


def _looked_up() -> Iterator[str]:
    """Indices of numpy say how many axes they have."""
    for rank in range(4):
        indices = "int" if rank == 0 else f"np.ndarray[tuple[{', '.join(['Any'] * rank)}], {INTEGERS}]"
        parameters = f"{_self('Embedding', 'RW')}, indices: {indices}{' | list[int]' * (rank == 1)}, /"
        yield _call(parameters, _LAYER.format(_tuple([*["Any"] * rank, "W"])), _variables("RW"))
    yield _call(f"{_any('Embedding', 'RW')}, indices: IndexExpression, /", _LAYER.format("Any"))


def _attended() -> Iterator[str]:
    """Queries of (..., time, width), keys and values of another time."""
    unknown = (
        _any("MultiHeadAttention", "WN")
        + ", query: {}, key: Any = None, value: Any = None, /, *, mask: Any = None"
    )
    yield _call(unknown.format(_OPERAND.format(UNKNOWN)), _LAYER.format("Any"))
    masks = ("Any, K_", "N_, Any, K_", "Literal[1], Any, K_", "Any, N_, Any, K_", "Any, Literal[1], Any, K_")
    for before in ("", "A", "AB"):
        query, key = (_OPERAND.format(_tuple([*before, n, "W"])) for n in "QK")
        made = _LAYER.format(_tuple([*before, "Q", "W"]))
        owner = f"{_self('MultiHeadAttention', 'WN')}, query: {query}"
        yield _call(f"{owner}, /, *, mask: {_masks(masks, 'Q_')}", made, _variables(before + "QWN"))
        both = f"{owner}, key: {key}, value: {key} | None = None, /, *, mask: {_masks(masks, 'K_')}"
        yield _call(both, made, _variables(before + "QKWN"))
        rest = f"{owner}, key: {_OPERAND.format(UNKNOWN)} | {RAW}, value: Any = None, /, *, mask: Any = None"
        yield _call(rest, made, _variables(before + "QWN"))
    yield _call(unknown.format(RAW), _LAYER.format("Any"))


def _masks(shapes: Sequence[str], keys: str) -> str:
    """Masks of these shapes, over as many keys or over one for all."""
    known = [shape.replace("K_", n) for shape in shapes for n in (keys, "Literal[1]")]
    return (
        " | ".join([*(f"Mask[tuple[{shape}], V_]" for shape in known), f"Mask[{UNKNOWN}, V_]", "None"])
        + " = None"
    )


def _made_convolutions(layer: str) -> list[str]:
    """`make` without groups; how many channels a group has is not computed here."""
    sizes = "settings: Placing[Cpu], i: Int[I_], o: Int[O_], k: Int[K_], /, *, stride: Int[S_] = 1, "
    variables = "I_: IntVar, O_: IntVar, K_: IntVar, S_: IntVar, L_: IntVar"
    made = f"{layer}[Int[I_], Int[O_], Int[K_], Int[S_], {{}}, Int[L_], Literal[1]]"
    same = f'{sizes}padding: Literal["same"], dilation: Int[L_] = 1, {_SETTINGS_ALONE}'
    numbers = "settings: Placing[Cpu], i: int, o: int, k: int, /, *, stride: int = 1"
    unknown = f'{numbers}, padding: int | Literal["same"] = 0, {_SETTINGS}'
    return [
        _static(
            overload(
                "make",
                f"{sizes}padding: Int[P_] = 0, dilation: Int[L_] = 1, {_SETTINGS_ALONE}",
                made.format("Int[P_]"),
                f"{variables}, P_: IntVar",
            )
        ),
        # half of an odd kernel; `make` refuses an even one
        _static(overload("make", same, made.format("Int[K_ // 2 * L_]"), variables)),
        _static(overload("make", unknown, f"{layer}[{', '.join(['Any'] * 7)}]", "X_: Any")),
        _elsewhere(),
    ]


def _convolved(layer: str, axes: str) -> Iterator[str]:
    batch, inputs, outputs, size, stride, padding, dilation = named("BIOKSPL")
    every = named(axes)
    count = len(every)
    image, kernel = (batch, inputs, *every), (outputs, inputs, *(size,) * count)
    result = windows.convolved(image, kernel, (stride,) * count, (padding,) * count, (dilation,) * count)
    owner = f"self: {layer}[I_, O_, Int[K_], Int[S_], Int[P_], Int[L_], Literal[1], T_, V_]"
    names = "B_: int, I_: int, O_: int, T_: Any, V_: Any"
    counted = ", ".join(f"{n}_: IntVar" for n in f"{axes}KSPL")
    sides = ", ".join(f"Int[{n}_]" for n in axes)
    known = f"{owner}, x: {_OPERAND.format(f'tuple[B_, I_, {sides}]')}, /"
    found = [_call(known, _LAYER.format(sliding(result)), f"{counted}, {names}")]
    others = [f"{n}_" for n in "XYZ"[:count]]
    sides = f"self: {layer}[I_, O_, Any, Any, Any, Any, Literal[1], T_, V_], x: " + _OPERAND.format(
        f"tuple[B_, I_, {', '.join(others)}]"
    )
    made = f"tuple[B_, O_, {', '.join(['Any'] * count)}]"
    found.append(
        _call(f"{sides}, /", _LAYER.format(made), f"{', '.join(f'{n}: int' for n in others)}, {names}")
    )
    yield from _around(_any(layer, "IOKSPLG"), found, "{0}")


_STEP: Final = "Callable[[ArrayLayer[Any, T_, V_]], ArrayLayer[Any, T_, V_]]"
_PAIR: Final = "tuple[Linear[Int[I_], Int[H_]], Linear[Int[J_], Int[O_]]]"
_SIZES: Final = "I_: IntVar, H_: IntVar, J_: IntVar, O_: IntVar"


def _chains() -> list[str]:
    """Two linear layers, and what keeps a shape between them and after; of other steps nothing is known."""
    start = f"self: Sequential[T_, V_, {_PAIR}], first: Linear[Int[I_], Int[H_], T_, V_], "
    last = "last: Linear[Int[J_], Int[O_], T_, V_], /"
    found = [
        overload("__init__", f"{start}{between}{last}", "None", f"{_SIZES}, T_: Any, V_: Any")
        for between in ("", "between: Elementwise, ")
    ]
    steps = f"self: Sequential[T_, V_, Any], first: {_STEP} | Callable[[Any], Any], /, *others: {_STEP}"
    return [*found, overload("__init__", steps, "None")]


def _chained() -> Iterator[str]:
    """A call of two linear layers."""
    for before in _LEADING:
        leading = "".join(f"{n}_, " for n in before)
        x = _OPERAND.format(f"tuple[{leading}Int[I_]]")
        result = f"tuple[{leading}expected(Int[J_], Int[H_], Int[O_])]"
        owner = f"self: Sequential[T_, V_, {_PAIR}]"
        parameters = f"{owner}, x: {x}, /, *, seed: Any = None"
        yield _call(parameters, _LAYER.format(result), f"{_variables(before)}, {_SIZES}")
        x = _OPERAND.format(f"tuple[{leading}Int[X_]]")
        result = f"tuple[{leading}expected(Int[I_], Int[X_], Int[O_])]"
        parameters = f"{owner}, x: {x}, /, *, seed: Any = None"
        yield _call(parameters, _LAYER.format(result), f"{_variables(before)}, {_SIZES}, X_: IntVar")
    yield _call("self: Sequential[T_, V_, Any], x: Any, /, *, seed: Any = None", _LAYER.format("Any"))
