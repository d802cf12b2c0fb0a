"""Which tensors of a file make which weights of a model, where the two need not agree.

Knows: names that are renamed, and names of earlier versions; the names and axes that PyTorch's modules have in a
`state_dict`, by the class of our layer; what is missing and left over.
Refuses to know: how a file is read, the state of optimizers, and layers that are not of `wengert.nn`: their weights
keep names and axes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from wengert.arrays import HOST, Value
from wengert.errors import ArgumentError, CheckpointError
from wengert.graph import Weight
from wengert.graph.operand import shown, unlifted
from wengert.graph.structures import parts_of
from wengert.models import weight_in
from wengert.nn import (
    GRU,
    LSTM,
    RNN,
    BatchNorm,
    Bilinear,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    EmbeddingBag,
    GroupNorm,
    GRUCell,
    InstanceNorm,
    LayerNorm,
    Linear,
    LSTMCell,
    MultiHeadAttention,
    RMSNorm,
    RNNCell,
    Sequential,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from wengert.saving.manifest import Broken, brief
from wengert.site import user_position

Layout: TypeAlias = Literal["pytorch"]
Rename: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
Array: TypeAlias = Any  # of numpy, of any shape and dtype


class Recipe(NamedTuple):
    """The tensors of a file that make a weight. None is only used where all are there."""

    names: tuple[str, ...]
    make: Callable[..., Value]

    def made(self, arrays: Sequence[Value]) -> Value | None:
        """The data of the weight; None for arrays of such shapes that there is none."""
        try:
            return self.make(*arrays)
        except (ValueError, IndexError):
            return None


class Part(NamedTuple):
    """A weight and what it is made from."""

    place: str
    weight: Weight
    source: Recipe


class Fit(NamedTuple):
    """Parts, the names in the file that they use and do not use, and the places of weights without a tensor."""

    parts: list[Part]
    used: tuple[str, ...]
    unused: tuple[str, ...]
    missing: tuple[str, ...]


def _same(x: Array) -> Array:
    return x


def _transposed(x: Array) -> Array:
    return x.T


def _sum(x: Array, y: Array) -> Array:
    return x + y


def _without_candidate(x: Array, y: Array) -> Array:
    """The biases of a GRU, those of h added; but that of its candidate, which r multiplies, is by itself."""
    size = x.shape[0] // 3
    return HOST.concat([x[: 2 * size] + y[: 2 * size], x[2 * size :]])


def _candidate(y: Array) -> Array:
    return y[2 * (y.shape[0] // 3) :]


def _third(i: int) -> Callable[[Array], Array]:
    def cut(x: Array) -> Array:
        size = x.shape[0] // 3
        return x[i * size : (i + 1) * size].T

    return cut


def _recurrent(**fields: Recipe) -> dict[str, tuple[Recipe, ...]]:
    """The names of a cell, and those of the only layer of a module that runs it over a sequence."""
    return {field: (source, _at(source, "_l0")) for field, source in fields.items()}


def _at(source: Recipe, end: str) -> Recipe:
    """A recipe from tensors whose names have this end, too."""
    return source._replace(names=tuple(f"{name}{end}" for name in source.names))


def _table(part: object) -> Mapping[str, tuple[Recipe, ...]]:
    """The recipes of a layer; of a recurrent one those of its cells, by layer and direction."""
    if not isinstance(part, RNN | LSTM | GRU):
        return _PYTORCH.get(type(part), {})
    found: dict[str, tuple[Recipe, ...]] = {}
    for i, cell in enumerate(part.cells):
        layer, back = divmod(i, 1 + part.bidirectional)
        end = f"_l{layer}{'_reverse' * back}"
        of_cell = _PYTORCH[type(cell)].items()
        found |= {f"cells.{i}.{field}": (_at(source, end),) for field, (source, _) in of_cell}
    return found


def _attention() -> dict[str, tuple[Recipe, ...]]:
    found: dict[str, tuple[Recipe, ...]] = {
        "output.weight": (Recipe(("out_proj.weight",), _transposed),),
        "output.bias": (Recipe(("out_proj.bias",), _same),),
    }
    for i, part in enumerate(("query", "key", "value")):
        found[f"{part}.weight"] = (
            Recipe(("in_proj_weight",), _third(i)),
            Recipe((f"{part[0]}_proj_weight",), _transposed),
        )
        found[f"{part}.bias"] = (Recipe(("in_proj_bias",), _third(i)),)
    return found


_SCALED: Final = {"scale": (Recipe(("weight",), _same),), "offset": (Recipe(("bias",), _same),)}
_KERNEL: Final = {"kernel": (Recipe(("weight",), _same),), "bias": (Recipe(("bias",), _same),)}
# The weights of a layer, by their places in it, and from which arrays of PyTorch's module each may be made.
_PYTORCH: Final[dict[type, Mapping[str, tuple[Recipe, ...]]]] = {
    Linear: {"weight": (Recipe(("weight",), _transposed),), "bias": (Recipe(("bias",), _same),)},
    **dict.fromkeys((Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d), _KERNEL),
    Bilinear: {name: (Recipe((name,), _same),) for name in ("weight", "bias")},
    Embedding: {"table": (Recipe(("weight",), _same),)},
    EmbeddingBag: {"table": (Recipe(("weight",), _same),)},
    LayerNorm: _SCALED,
    GroupNorm: _SCALED,
    InstanceNorm: _SCALED,
    RMSNorm: {"scale": _SCALED["scale"]},
    BatchNorm: {
        **_SCALED,
        "mean": (Recipe(("running_mean",), _same),),
        "variance": (Recipe(("running_var",), _same),),
    },
    LSTMCell: _recurrent(
        inputs=Recipe(("weight_ih",), _transposed),
        hidden=Recipe(("weight_hh",), _transposed),
        bias=Recipe(("bias_ih", "bias_hh"), _sum),
    ),
    RNNCell: _recurrent(
        inputs=Recipe(("weight_ih",), _transposed),
        hidden=Recipe(("weight_hh",), _transposed),
        bias=Recipe(("bias_ih", "bias_hh"), _sum),
    ),
    GRUCell: _recurrent(
        inputs=Recipe(("weight_ih",), _transposed),
        hidden=Recipe(("weight_hh",), _transposed),
        bias=Recipe(("bias_ih", "bias_hh"), _without_candidate),
        hidden_bias=Recipe(("bias_hh",), _candidate),
    ),
    MultiHeadAttention: _attention(),
}


def _parts(**parts: tuple[str, type]) -> dict[str, tuple[Recipe, ...]]:
    """The names of a layer of layers: by field the name of a module, and our layer for it."""
    return {
        f"{field}.{place}": tuple(
            source._replace(names=tuple(f"{name}.{tensor}" for tensor in source.names)) for source in sources
        )
        for field, (name, layer) in parts.items()
        for place, sources in _PYTORCH[layer].items()
    }


_PYTORCH[TransformerEncoderLayer] = _parts(
    attention=("self_attn", MultiHeadAttention),
    attention_norm=("norm1", LayerNorm),
    inner=("linear1", Linear),
    outer=("linear2", Linear),
    net_norm=("norm2", LayerNorm),
)
_PYTORCH[TransformerDecoderLayer] = {
    **{f"itself.{place}": found for place, found in _PYTORCH[TransformerEncoderLayer].items()},
    **{f"itself.{place}": found for place, found in _parts(net_norm=("norm3", LayerNorm)).items()},
    **_parts(memory=("multihead_attn", MultiHeadAttention), memory_norm=("norm2", LayerNorm)),
}


def sources(model: object, layout: Layout | None) -> dict[Weight, tuple[Recipe, ...]]:
    """From what each weight may be made, by the names that a file of this layout has; of none, that is not told.

    A `Sequential` of PyTorch has its layers by their numbers.
    """
    found: dict[Weight, tuple[Recipe, ...]] = {}
    waiting: list[tuple[str, object]] = [("", model)] if layout is not None else []
    met: set[int] = set()
    while waiting:
        place, held = waiting.pop()
        part = _standing(held)
        if id(part) in met:
            continue
        met.add(id(part))
        if isinstance(part, Weight):
            found.setdefault(part, (Recipe((place.removesuffix("."),), _same),))
            continue
        table = _table(part)
        for weight, at in _within(part) if table else ():
            found[weight] = tuple(
                Recipe(tuple(place + name for name in source.names), source.make) for source in table[at]
            )
            met.add(id(weight))
        if not table:
            inner = parts_of(part.layers) if isinstance(part, Sequential) else parts_of(part)
            waiting += reversed([(f"{place}{name}.", x) for name, x in inner])
    return found


def _standing(held: object) -> object:
    weight = weight_in(held)
    return unlifted(held) if weight is None else weight


def _within(layer: object) -> Iterator[tuple[Weight, str]]:
    """The weights of a layer, by place."""
    waiting: list[tuple[str, object]] = [("", layer)]
    while waiting:
        place, held = waiting.pop()
        part = _standing(held)
        if isinstance(part, Weight):
            yield part, place
        else:
            waiting += [(f"{place}.{name}" if place else name, x) for name, x in parts_of(part)]


def fit(
    tensors: Sequence[str],
    named: Mapping[str, Weight],
    former: Mapping[str, Weight],
    rename: Rename | None,
    by_layout: Mapping[Weight, Sequence[Recipe]],
) -> Fit:
    """For each weight the tensors that make it, of which each may serve several."""
    at, dropped = _renamed(tensors, rename)
    before = {weight: place for place, weight in former.items()}
    parts: list[Part] = []
    for place, weight in named.items():
        usual = [Recipe((name,), _same) for name in (place, before.get(weight, place))]
        for source in by_layout.get(weight, usual):
            if all(name in at for name in source.names):
                found = tuple(at[name] for name in source.names)
                parts.append(Part(place, weight, source._replace(names=found)))
                break
    used = {name for part in parts for name in part.source.names}
    filled = {part.place for part in parts}
    return Fit(
        parts,
        tuple(name for name in tensors if name in used),
        tuple(name for name in tensors if name not in used and name not in dropped and not _counts(name, at)),
        tuple(place for place in named if place not in filled),
    )


def _counts(name: str, names: Collection[str]) -> bool:
    """True if this is the number of steps that PyTorch has beside a running mean, which nothing here needs."""
    norm, _, last = name.rpartition("num_batches_tracked")
    return not last and f"{norm}running_mean" in names


def _renamed(tensors: Sequence[str], rename: Rename | None) -> tuple[dict[str, str], set[str]]:
    """The name in the file of each name that the model asks for, and what is not to be used."""
    if rename is not None and not callable(rename) and not isinstance(rename, Mapping):
        raise ArgumentError(
            f"load: rename is a function or a mapping from names in the file to places in the model; got "
            f"{shown(rename)}\n  at {user_position()}"
        )
    at: dict[str, str] = {}
    dropped: set[str] = set()
    for name in tensors:
        to = name if rename is None else rename(name) if callable(rename) else rename.get(name, name)
        if to is None:
            dropped.add(name)
        elif not isinstance(to, str):
            raise ArgumentError(
                f"load: rename gave {shown(to)} for {brief(name)}; it gives a name, or None to leave the tensor out\n"
                f"  at {user_position()}"
            )
        elif at.setdefault(to, name) != name:
            raise CheckpointError(
                f"load: rename gives {brief(at[to])} and {brief(name)} one place, {brief(to)}\n  at {user_position()}"
            )
    return at, dropped


def check_differences(
    missing: Collection[str], unexpected: Collection[str], differ: Sequence[str], hint: str = ""
) -> None:
    """Broken, with everything by which a file is of another model."""
    said = [f"lacks {_listed(missing)}"] * bool(missing) + [f"has {_listed(unexpected)}"] * bool(unexpected)
    texts = [f"it {' and '.join(said)}"] * bool(said) + [*differ[:_MOST]]
    if len(differ) > _MOST:
        texts.append(f"and {len(differ) - _MOST} more differ")
    if texts:
        raise Broken(f"it is of another model: {'; '.join(texts)}{hint}")


def _listed(names: Collection[str]) -> str:
    first = sorted(names)[:_MOST]
    return ", ".join(map(brief, first)) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


_MOST: Final = 10  # names that an error lists
