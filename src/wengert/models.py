"""Models as structures: where their weights are, and models with parts exchanged, each new while the old one stays.

Knows: models as dataclasses, other objects with attributes, lists, tuples and dictionaries; that an expression may
stand in the place of a weight, and that what stands in two places of a model does so afterwards, too.
Refuses to know: what a model computes, and ready-made layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeAlias, TypeVar, cast

from wengert.arrays import device_name, is_array
from wengert.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from wengert.graph import ArrayWeight, Buffer, DataWeight, DoubleWeight, Weight
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any, shown, unlifted
from wengert.graph.order import below
from wengert.graph.structures import parts_of, with_parts
from wengert.graph.weights import data_of
from wengert.ops import permute_dims, stop_gradient
from wengert.plugins import Plugin
from wengert.site import user_position

# Any: of most models all weights are arrays; which element type and device nobody says
Found: TypeAlias = dict[str, ArrayWeight[Any, Any, Any]]
M = TypeVar("M")
Where: TypeAlias = str | Callable[[Any], object]  # Any: the model


def weights(model: object) -> Found:
    """The weights of a model by their place in it, each once, in the order in which they are written; no buffers.

    Raises ArgumentError where two have one place, as in `{"a.b": w, "a": {"b": v}}`.

    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> list(weights({"head": Linear.make(SGD(learning_rate=0.1), 3, 2, seed=0)}))
    ['head.weight', 'head.bias']

    A weight that has been lifted is one, too.
    >>> from wengert import lift
    >>> list(weights({"start": lift(SGD(learning_rate=0.1).double_weight(0.0))}))
    ['start']
    """
    found = weights_and_buffers(model)
    return cast(Found, {place: x for place, x in found.items() if not isinstance(x, Buffer)})


def buffers(model: object) -> dict[str, Buffer[Any, Any, Any]]:  # Any: as in `Found`
    """The buffers of a model, as `weights` gives its weights.

    >>> from wengert.nn import BatchNorm
    >>> from wengert.plugins import SGD
    >>> list(buffers({"norm": BatchNorm.make(SGD(learning_rate=0.1), 3)}))
    ['norm.mean', 'norm.variance']
    """
    found = weights_and_buffers(model)
    return {place: x for place, x in found.items() if isinstance(x, Buffer)}


def weights_and_buffers(model: object) -> dict[str, Weight]:
    """All that a file has of a model."""
    found: dict[str, Weight] = {}
    for weight, place, plain, written in _placed(model):
        other = found.setdefault(place, weight)
        if other is not weight:  # what the user calls it is the name of another one
            other = found.setdefault(plain, weight)
        if other is not weight and place != written:
            other = found.setdefault(written, weight)
        if other is not weight:
            raise ArgumentError(
                f"two weights stand at {place!r}: one made at {other.site}, one at {weight.site}; rename a key, or "
                "an attribute, on the way to one of them"
            )
    return found


def former_weights(model: object) -> dict[str, Weight]:
    """The weights by names that files of earlier versions have, with the private attributes of Wengert's classes."""
    return {written: weight for weight, _, _, written in _placed(model)}


def weights_by_place(model: object) -> dict[str, Weight]:
    """The weights by their places, also those of blocks that have names."""
    return {plain: weight for weight, _, plain, _ in _placed(model)}


def _placed(model: object) -> Iterator[tuple[Weight, str, str, str]]:
    """Each weight with its name, its place, and its place as it is written, private attributes of Wengert's included.

    The name is the place, or begins with what the user calls a block with weights, wherever that stands.
    """
    met: set[int] = set()
    computed: list[tuple[str, str, str, Expression]] = []
    waiting: list[tuple[str, str, str, object]] = [("", "", "", model)]
    while waiting:
        place, plain, written, held = waiting.pop()
        part = unlifted(held)
        if id(part) in met:
            continue
        met.add(id(part))
        if isinstance(part, Weight):
            yield part, _within(place, ""), _within(plain, ""), written or "weight"
            continue
        if isinstance(part, Expression):
            computed.append((place, plain, written, part))
            continue
        ours = type(part).__module__.startswith("wengert.")
        called = getattr(part, "saved_as", None) if ours else None
        place = place if called is None else called
        for name, x in reversed([*parts_of(part)]):
            here = "" if ours and name.startswith("_") else f".{name}"
            waiting.append((place + here, plain + here, _within(written, name), x))
    for (
        place,
        plain,
        written,
        expression,
    ) in computed:  # in the place of a weight: those that stand nowhere else
        inside = [weight for weight in below(expression, ())[1] if id(weight) not in met]
        met.update(map(id, inside))
        for i, weight in enumerate(inside):
            name = str(i) if len(inside) > 1 else ""
            yield weight, _within(place, name), _within(plain, name), _within(written, name)


def _within(place: str, name: str) -> str:
    return f"{place}.{name}".strip(".") or "weight"


def map_weights(
    model: M,
    transform: Callable[[ArrayWeight[Any, Any, Any]], object],  # Any: as in `Found`
) -> M:
    """The model with `transform(weight)`, a weight or an expression, in the place of each weight; called once for each.

    >>> from wengert.nn import Linear, weights
    >>> from wengert.plugins import SGD
    >>> layer = Linear.make(SGD(learning_rate=0.1), 3, 2, seed=0)
    >>> half = map_weights(layer, lambda weight: weight * 0.5)
    >>> bool((half.weight.predict().run() * 2 == layer.weight.data).all())
    True
    """
    found, stands = _all_weights("map_weights", model), _standing(model)
    places = [stands.get(id(weight), weight) for weight in found.values()]
    return _changed(model, {id(x): transform(cast(Any, x)) for x in places})


def freeze(model: M, where: Where | None = None) -> M:
    """The model, or its part `where`, with weights that no training reaches; they are saved and loaded as before.

    Buffers stay as they are: a frozen layer that trains goes on counting.

    Raises ArgumentError for a part whose weights are all frozen, and one without weights.
    >>> import numpy as np
    >>> from wengert import sum
    >>> from wengert.nn import Linear, weights
    >>> from wengert.plugins import SGD
    >>> layer = freeze(Linear.make(SGD(learning_rate=0.1), 3, 2, seed=0), "weight")
    >>> before = {place: w.data for place, w in weights(layer).items()}
    >>> _ = sum(layer(np.ones((1, 3), np.float32))).train().run()
    >>> {place: bool((w.data == before[place]).all()) for place, w in weights(layer).items()}
    {'bias': False, 'weight': True}
    """
    parts = [model] if where is None else [part for _, part in _found("freeze", model, where)]
    free = {id(w): w for part in parts for w in _free(part)}
    if not free:
        raise ArgumentError(
            f"freeze: there is no weight to freeze in {shown(parts[0])}; it has none, or all are frozen\n"
            f"  at {user_position()}"
        )
    return _changed(model, {key: stop_gradient(cast(Any, weight)) for key, weight in free.items()})


def replace(model: M, where: Where, new: object) -> M:
    """The model with `new` at `where`: a place, such as "head.weight", or a function of the model, `lambda m: m.head`.

    In the place of a weight stands an expression or an array of its shape and dtype, in that of a layer anything.
    Raises ArgumentError where the model has no such part, ShapeError and DTypeError.
    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> settings = SGD(learning_rate=0.1)
    >>> model = {"body": Linear.make(settings, 3, 4, seed=0), "head": Linear.make(settings, 4, 10, seed=1)}
    >>> replace(model, "head", Linear.make(settings, 4, 2, seed=2))["head"].weight.shape
    (4, 2)
    """
    changes: dict[int, object] = {}
    for place, part in _found("replace", model, where):
        changes[id(part)] = _fitting("replace", place, part, new) if isinstance(part, Expression) else new
    return _changed(model, changes)


def tie(model: M, where: Where, to: Where) -> M:
    """The model with the weight at `to` also at `where`, transposed where its shape has to be: one weight for both.

    Raises as `replace`.
    >>> from wengert.nn import Embedding, Linear, weights
    >>> from wengert.plugins import SGD
    >>> settings = SGD(learning_rate=0.1)
    >>> model = {"words": Embedding.make(settings, 9, 4, seed=0), "out": Linear.make(settings, 4, 9, seed=1)}
    >>> list(weights(tie(model, "out.weight", to="words.table")))
    ['words.table', 'out.bias']
    """
    sources = list(_found("tie", model, to))
    if len(sources) != 1 or not isinstance(sources[0][1], Expression):
        raise ArgumentError(
            f"tie: one weight is tied to, and {to!r} is {', '.join(place for place, _ in sources)}\n"
            f"  at {user_position()}"
        )
    source: Any = sources[0][1]  # Any: an expression of any type
    changes: dict[int, object] = {}
    for place, part in _found("tie", model, where):
        shape = part.kind.shape if isinstance(part, Expression) else None
        turned = shape is not None and len(shape) == 2 and shape != source.kind.shape == shape[::-1]
        changes[id(part)] = _fitting("tie", place, part, permute_dims(source, (1, 0)) if turned else source)
    return _changed(model, changes)


def with_settings(model: M, where: Where, settings: Plugin) -> M:
    """The model with new weights of other settings at `where`, with the same values.

    State of their optimizers goes with them as far as those of the new settings have it: the moments of Adam, to AdamW.
    A place may have stars: "*.bias". Raises as `replace`, DeviceError for settings that put weights on another device.
    >>> from wengert.nn import Linear, weights
    >>> from wengert.plugins import SGD
    >>> layer = Linear.make(SGD(learning_rate=0.1), 3, 2, seed=0)
    >>> slow = with_settings(layer, "weight", SGD(learning_rate=0.01))
    >>> [weight.settings.learning_rate for weight in weights(slow).values()]
    [0.01, 0.1]
    """
    changes: dict[int, object] = {}
    stands = _standing(model)
    for _, part in _found("with_settings", model, where):
        for weight in weights(part).values():
            changes[id(stands.get(id(weight), weight))] = _remade(weight, settings)
    if not changes:
        raise ArgumentError(f"with_settings: there is no weight at {where!r}\n  at {user_position()}")
    return _changed(model, changes)


def _remade(weight: Weight, settings: Plugin) -> Expression:
    data: Any = data_of(weight)  # Any: a number or an array
    name = None if weight.name == weight.site else weight.name
    made: Expression
    if isinstance(weight, ArrayWeight) or is_array(data):  # a weight, or an array that is kept in two bytes
        made = settings.array_weight(data, name=name)
    elif isinstance(weight, DoubleWeight):
        made = settings.double_weight(data, name=name)
    elif isinstance(weight, DataWeight):
        made = settings.data_weight(data, name=name)
    else:
        made = settings.float_weight(data, name=name)
    if str(made.kind.device) != str(weight.kind.device):  # the model's type says where its weights are
        raise DeviceError(
            f"with_settings: {weight!r} is on {device_name(weight.kind.device)}, these settings put weights on "
            f"{device_name(made.kind.device)}; make a model with them, and load a file of this one into it\n"
            f"  at {user_position()}"
        )
    optimizer = cast(Weight, _weight_at(made)).optimizer
    for key, value in weight.optimizer.kept().items():
        if hasattr(type(optimizer), key):
            setattr(optimizer, key, value.copy() if is_array(value) else value)
    return made


def _all_weights(who: str, model: object) -> Mapping[str, Weight]:
    found = weights(model)
    if not found:
        raise ArgumentError(f"{who}: there is no weight in {shown(model)}\n  at {user_position()}")
    return found


def _free(model: object) -> Iterator[Expression]:
    """Expressions in the places of weights that are under no other expression."""
    return (x for x in _standing(model).values() if not isinstance(x, Buffer))


def _standing(model: object) -> dict[int, Expression]:
    """The expression in the place of each weight, by the weight: itself, or the float32 array of one in two bytes."""
    stands = ((_weight_at(x), x) for _, x in _walk(model))
    return {id(weight): cast(Expression, x) for weight, x in stands if weight is not None}


def _weight_at(x: object) -> Weight | None:
    late = isinstance(x, Node) and x.signature.operation.late
    weight = x.operands[0] if late else x  # type: ignore[attr-defined] # of a node
    return weight if isinstance(weight, Weight) else None


def weight_in(x: object) -> Weight | None:
    """The weight that stands somewhere, also one that is frozen or kept in two bytes; None of anything else."""
    part = unlifted(x)
    while isinstance(part, Node) and len(part.operands) == 1:
        operation = part.signature.operation
        if not (operation.late or (operation.rules is not None and operation.rules.detached)):
            return None
        part = unlifted(part.operands[0])
    return part if isinstance(part, Weight) else None


def _walk(model: object) -> Iterator[tuple[str, object]]:
    """All parts of a model, by place, each once."""
    met: set[int] = set()
    waiting: list[tuple[str, object]] = [("", model)]
    while waiting:
        place, held = waiting.pop()
        part = unlifted(held)
        if id(part) not in met:
            met.add(id(part))
            yield place, part
            if not isinstance(part, Expression):
                inner = [(f"{place}.{name}" if place else name, x) for name, x in parts_of(part)]
                waiting += reversed(inner)


def _found(who: str, model: object, where: Where) -> list[tuple[str, object]]:
    """The parts of a model that `where` tells; ArgumentError for none."""
    parts = list(_walk(model))
    if isinstance(where, str):
        found = [(place, part) for place, part in parts if fnmatchcase(place, where)]
    elif callable(where):
        told = where(model)
        wanted = {id(unlifted(x)) for x in (told if isinstance(told, (list, tuple)) else [told])} | {id(told)}
        found = [(place, part) for place, part in parts if id(part) in wanted]
    else:
        found = []
    if not found:
        places = ", ".join(repr(place) for place, part in parts if isinstance(part, Expression))
        raise ArgumentError(
            f"{who}: the model has no part at {where!r}; write a place, or a function of the model; it has "
            f"{places[:300] or 'no weights'}\n  at {user_position()}"
        )
    return found


def _fitting(who: str, place: str, old: object, new: object) -> Expression:
    """`new` as an expression for the place of a weight."""
    made = lift_any(new, who)
    if not isinstance(old, Expression):
        raise ArgumentError(f"{who}: {place!r} is no weight, but {shown(old)}\n  at {user_position()}")
    if made.kind.shape != old.kind.shape:
        raise ShapeError(
            f"{who}: {place!r} has shape {old.kind.shape}, what is put there {made.kind.shape}\n  at {user_position()}"
        )
    if made.kind.dtype != old.kind.dtype:
        raise DTypeError(
            f"{who}: {place!r} is {old.kind.dtype}, what is put there {made.kind.dtype}\n  at {user_position()}"
        )
    return made


def _changed(model: M, changes: Mapping[int, object]) -> M:
    """A copy of a model with other parts, by the identity of those they replace; what has none of them is itself."""
    made: dict[int, object] = dict(changes)
    opened: set[int] = set()
    stack: list[object] = [model]
    while stack:
        part = unlifted(stack[-1])
        key = id(part)
        inner = [] if key in made or isinstance(part, Expression) else [x for _, x in parts_of(part)]
        left = [x for x in inner if id(unlifted(x)) not in made and id(unlifted(x)) not in opened]
        if left and key not in opened:
            opened.add(key)
            stack += left
            continue
        stack.pop()
        if key not in made:
            changed = (x for x in inner if made.get(id(unlifted(x)), x) is not unlifted(x))
            new = (made.get(id(unlifted(x)), x) for x in inner)
            made[key] = part if next(changed, None) is None else with_parts(part, new)
    return cast(M, made[id(unlifted(model))])
