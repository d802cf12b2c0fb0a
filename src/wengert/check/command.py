"""`python -m wengert check FILE:MODEL --input "Batch 784"`: the command.

Knows: how a model is named on the command line and made, what an input is, and how the findings are shown; that an
annotation `wg.ArrayLayer` alone, of a parameter or a result, becomes `wg.ArrayLayer[tuple[Batch, Literal[10]]]` in the
file, where all calls had that one shape, and what the new words need is imported and defined once.
Refuses to know: where shapes come from, and what is wrong with them; annotations that say anything already.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from wengert.arrays import namespace_for
from wengert.check.recording import CallResult, Mistake, Recording, mistake_of, recorded
from wengert.check.sizes import NamedSizes, chosen
from wengert.check.stated import Function, functions_of, takes_arrays
from wengert.errors import CheckpointError
from wengert.graph import Weight
from wengert.graph.kinds import Shape
from wengert.graph.literals import literal
from wengert.graph.node import Expression, new_node
from wengert.graph.order import below
from wengert.models import weights
from wengert.saving import Checkpoint, load

_DTYPES: Final = ("float32", "float64", "int64", "int32", "bool")
Key: TypeAlias = tuple[str, str, str]  # of what is one row for all its shapes that are alike
_WRONG, _MISUSED = 1, 2  # the exit status
_RUN: Final = '  the file is run to make the model; what trains stands below `if __name__ == "__main__":`'


class Misuse(Exception):
    """A command line that cannot be carried out; the text is the line that is shown."""


class Input(NamedTuple):
    """One argument of the model: its dimensions, numbers or names, and its element type."""

    dims: tuple[str, ...]
    dtype: str

    def made(self, sizes: Mapping[str, int], raw: bool) -> object:
        """Zeros of these sizes, as an expression unless they are integers or asked for `raw`."""
        shape = tuple(int(dim) if dim.isdigit() else sizes[dim] for dim in self.dims)
        zeros = namespace_for("cpu", True).zeros(shape, self.dtype)
        if raw or not self.dtype.startswith("float"):
            return zeros
        x = literal(zeros)
        return new_node(type(x), x.kind, x.signature, x.operands, f"--input '{' '.join(self.dims)}'", 0)


def _input(text: str) -> Input:
    *dims, last = text.split() or [""]
    dims, dtype = (dims, last) if last in _DTYPES else ([*dims, last] if last else [], "float32")
    for dim in dims:
        if not dim.isdigit() and not dim.isidentifier():
            raise Misuse(
                f"--input {text!r}: {dim!r} is neither a number nor a name; write 'Batch 1 28 28 float32'"
            )
    return Input((*dims,), dtype)


def main(arguments: list[str]) -> int:
    """Check one model and show what each layer gives; 1 if something is wrong, 2 if there is nothing to check."""
    options = _parser().parse_args(arguments)
    try:
        return _checked(options)
    except Misuse as misuse:
        print(f"python -m wengert check: {misuse}", file=sys.stderr)
        return _MISUSED


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m wengert check",
        description="Call a model on inputs whose sizes have names, without data; show what each layer gives, and what "
        "is wrong, in the words of mypy. Only the module that is named is run.",
    )
    parser.add_argument(
        "model",
        metavar="FILE:MODEL",
        help="a model, a function, a class, or a call that makes a model: 'model.py:MLP(784, 10)'",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="'SIZE ... [DTYPE]'",
        help="an argument of the model: 'Batch 1 28 28', 'Batch Time int64'; as often as there are arguments",
    )
    parser.add_argument(
        "--keyword", action="append", default=[], metavar="NAME=VALUE", help="a keyword argument: seed=None"
    )
    parser.add_argument(
        "--loss", action="store_true", help="the result has to be a scalar, which can be trained"
    )
    parser.add_argument("--weights", metavar="FILE", help="a checkpoint that has to fit the model")
    parser.add_argument(
        "--annotate", action="store_true", help="write the shapes into annotations that have none"
    )
    return parser


def _checked(options: Namespace) -> int:
    file, colon, text = options.model.partition(":")
    if not colon or not text:
        raise Misuse(f"name a file and what is in it, as in model.py:MLP; got {options.model!r}")
    if not Path(file).is_file():
        raise Misuse(f"there is no file {file!r}")
    inputs = [_input(given) for given in options.input]
    module = _module(Path(file))
    try:
        _run(module)
    except Exception as error:
        found = mistake_of(error, (file, 1))
        return _shown_wrong([replace(found, about=(*found.about, _RUN))])
    try:
        model = _model(module, text, file)
    except Misuse:
        raise
    except Exception as error:
        return _shown_wrong([mistake_of(error, (file, 1))])
    return _called(options, module, model, inputs)


# Any: the user's
def _called(options: Namespace, module: ModuleType, model: Any, inputs: Sequence[Input]) -> int:
    raw = _raw(model, inputs, options)
    choices = chosen(sorted({dim for given in inputs for dim in given.dims if not dim.isdigit()}))
    recordings = []
    for sizes in choices:
        values = [given.made(sizes, alone) for given, alone in zip(inputs, raw, strict=True)]
        call = partial(model, *values, **_keywords(options))
        recordings.append(recorded(call, model, module, sizes))
    names = NamedSizes(choices)
    for line in _table(recordings, names):
        print(line)
    wrong = _agreed(recordings, names, choices)
    if not wrong:
        wrong = [*_loss(options, recordings, names), *_weights(options, model)]
        _unread(model, recordings[0].result)
    if options.annotate:
        print(annotated(module, recordings, names))
    return _shown_wrong(wrong)


# -- the model --------------------------------------------------------------------------------------


def _module(path: Path) -> ModuleType:
    # as a module of Python's may be called
    name = f"checked_{path.stem}" if path.stem in sys.modules else path.stem
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Misuse(f"{str(path)!r} is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))  # as Python does for a program
    return module


def _run(module: ModuleType) -> None:
    assert module.__spec__ is not None and module.__spec__.loader is not None, "made by `_module`"
    module.__spec__.loader.exec_module(module)


def _model(module: ModuleType, text: str, file: str) -> object:
    """The value of a name, an attribute or a call; a class, or a function without parameters, is called."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise Misuse(f"{text!r} is neither a name nor a call, as in MLP or MLP(784, 10)") from None
    found = _value(tree, module, file)
    while inspect.isclass(found) or (inspect.isfunction(found) and not inspect.signature(found).parameters):
        needed = _needed(found)
        if needed:
            raise Misuse(
                f"{text} is made with arguments: write '{file}:{text}({', '.join(needed)})', with their values"
            )
        found = found()
    if not callable(found):
        raise Misuse(f"{text} is {found!r:.60}, which cannot be called on inputs")
    return found


def _needed(x: Callable[..., object]) -> list[str]:
    found = inspect.signature(x).parameters.values()
    return [p.name for p in found if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _value(node: ast.expr, module: ModuleType, file: str) -> Any:  # Any: whatever the module has
    """The value of an expression of names, attributes, calls and literals."""
    value = partial(_value, module=module, file=file)
    if isinstance(node, ast.Name):
        if not hasattr(module, node.id):
            made = [
                name for name, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__
            ]
            raise Misuse(
                f"{file} has no {node.id}; it defines {', '.join(made) or 'nothing that can be called'}"
            )
        return getattr(module, node.id)
    if isinstance(node, ast.Attribute):
        of = value(node.value)
        if not hasattr(of, node.attr):
            raise Misuse(f"{ast.unparse(node.value)} has no {node.attr}")
        return getattr(of, node.attr)
    if isinstance(node, ast.Call):
        keywords = {x.arg: value(x.value) for x in node.keywords if x.arg}
        return value(node.func)(*map(value, node.args), **keywords)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise Misuse(f"{ast.unparse(node)} is no name, call or literal") from None


def _keywords(options: Namespace) -> dict[str, object]:
    found = {}
    for text in options.keyword:
        name, _, value = text.partition("=")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            raise Misuse(f"--keyword {text!r}: write a name, = and a literal, as in seed=None") from None
    return found


def _raw(model: Callable[..., object], inputs: Sequence[Input], options: Namespace) -> list[bool]:
    """For each input True if its parameter is annotated as an array of numpy."""
    try:
        inspect.signature(model).bind(*inputs, **_keywords(options))
    except TypeError as error:
        raise Misuse(
            f"{options.model} takes ({', '.join(inspect.signature(model).parameters)}): {error}; "
            "write one --input for each, and --keyword for what is no array"
        ) from None
    arrays = takes_arrays(model if inspect.isroutine(model) else type(model).__call__)
    names = [*inspect.signature(model).parameters]
    return [names[min(i, len(names) - 1)] in arrays for i in range(len(inputs))]


# -- what is shown ------------------------------------------------------------------------------------


def _near(file: str) -> str:
    """A file as seen from the present folder, where it is in it."""
    return file.removeprefix(os.getcwd() + os.sep)


def _table(recordings: Sequence[Recording], names: NamedSizes) -> list[str]:
    """A line for each result, with how often it was given in one shape on one line."""
    by_line = [_by_line(recording) for recording in recordings]
    found: dict[Key, list[str]] = {}
    for key in by_line[0]:
        found[key] = [names.shape(alike) for alike in zip(*(of.get(key, []) for of in by_line), strict=False)]
    rows: dict[tuple[str, str, str, str], list[int]] = {}
    left = {key: iter(shapes) for key, shapes in found.items()}
    for key in (_key(made) for made in recordings[0].made):
        for shape in islice(left[key], 1):
            alike = len({*found[key]}) == 1
            counts = [len(of[key]) if alike else found[key].count(shape) for of in by_line]
            rows.setdefault((key[0], shape, *key[1:]), counts)
    if not rows:
        return []
    lines = [("layer", "shape", "dtype", "line"), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    times = ["", *(names.shape([(n,) for n in counts])[1:-2] for counts in rows.values())]
    return [
        "  ".join(f"{word:{width}}" for word, width in zip(line, widths, strict=True)).rstrip()
        + f"  {n} times" * (n not in ("", "1"))
        for line, n in zip(lines, times, strict=True)
    ]


def _key(made: CallResult) -> Key:
    """Name, element type and line."""
    line = "" if made.place is None else f"{_near(made.place[0])}:{made.place[1]}"
    return made.name, made.dtype, line


def _by_line(recording: Recording) -> dict[Key, list[Shape]]:
    found: dict[Key, list[Shape]] = {}
    for made in recording.made:
        found.setdefault(_key(made), []).append(made.shape)
    return found


def _agreed(
    recordings: Sequence[Recording], names: NamedSizes, choices: Sequence[Mapping[str, int]]
) -> list[Mistake]:
    """Findings of the choices of sizes that have most, with names for numbers."""
    most = max(len(recording.wrong) for recording in recordings)
    places = [i for i, recording in enumerate(recordings) if len(recording.wrong) == most]
    found = [_named(x, names.at(places)) for x in zip(*(recordings[i].wrong for i in places), strict=True)]
    if len(places) == len(recordings):
        return found
    sizes = ", ".join(f"{name} = {n}" for name, n in choices[places[0]].items())
    note = f"  with {sizes}, but not with each of {len(recordings)} choices"
    return [replace(x, about=(*x.about, note)) for x in found]


def _named(several: Sequence[Mistake], names: NamedSizes) -> Mistake:
    about = [names.text(lines) for lines in zip(*(x.about for x in several), strict=False)]
    return Mistake(several[0].place, names.text([x.text for x in several]), several[0].code, tuple(about))


def _loss(options: Namespace, recordings: Sequence[Recording], names: NamedSizes) -> list[Mistake]:
    results = [recording.result for recording in recordings]
    shapes = [x.kind.shape for x in results if isinstance(x, Expression) and x.kind.shape]
    if not options.loss or len(shapes) < len(results):
        return []
    shape = names.shape(shapes)
    text = f"train: a loss is a scalar, this one has shape {shape}; reduce it first, as in train(mean(loss))"
    file, _, line = results[0].site.rpartition(":")  # type: ignore[attr-defined] # an expression, as it has a shape
    return [Mistake((file, int(line)), text, "shape")]


def _weights(options: Namespace, model: object) -> list[Mistake]:
    if options.weights is None:
        return []
    try:
        used = len(load(options.weights, model, optimizer=False, check=_header_says_all).used)
    except _Fits as fits:
        (used,) = fits.args
    except (CheckpointError, OSError) as error:
        return [Mistake((options.weights, 1), str(error).splitlines()[0], "weights")]
    print(f"{options.weights} fits: {used} weights")
    return []


class _Fits(Exception):
    """The header of a file has told that it fits: with the number of its weights."""


def _header_says_all(said: Checkpoint) -> None:
    """Stop before the data of a file that `save` wrote are read; those of others say their shapes and axes there."""
    if said.version:
        raise _Fits(len(said.used))


def _unread(model: object, result: object) -> None:
    """Name the weights of a model that the result does not depend on."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    layers = [x for x in parts if isinstance(x, Expression)]
    read = {id(w) for x in layers for w in ([x] if isinstance(x, Weight) else below(x, ())[1])}
    unread = [place for place, w in weights(model).items() if id(w) not in read] if layers else []
    if unread:
        print(f"note: the result does not depend on {', '.join(unread)}")


def _shown_wrong(wrong: Sequence[Mistake]) -> int:
    for x in wrong:
        print(f"{_near(x.place[0])}:{x.place[1]}: error: {x.text}  [{x.code}]")
        for line in x.about:
            print(line)
    print(f"{len(wrong)} error{'s' * (len(wrong) != 1)}" if wrong else "nothing is wrong")
    return _WRONG if wrong else 0


_BARE = ("ArrayLayer", "ArrayExpression", "ArrayWeight")


class Edit(NamedTuple):
    """A text that is inserted behind a place of the file, counted in bytes of its line."""

    line: int
    column: int
    text: str


def annotated(module: ModuleType, recordings: Sequence[Recording], names: NamedSizes) -> str:
    """Write a module's file anew; the line that says what was written.

    Only what is inserted changes: everything else, comments and the ends of lines too, stays as it is.
    """
    path = Path(module.__file__ or "")
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    functions = {(f.__name__, f.__code__.co_firstlineno): f for f in functions_of(module).values()}
    edits = [
        edit
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and (
            function := functions.get(
                (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]))
            )
        )
        for edit in _edits(node, function, recordings, names)
    ]
    if not edits:
        return f"{path.name}: no annotation without a shape was reached"
    lines = source.encode().splitlines(keepends=True)
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.column] + edit.text.encode() + line[edit.column :]
    at = max(node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    lines[at:at] = [
        line.encode() for line in _lines_needed(module, " ".join(edit.text for edit in edits), names)
    ]
    path.write_bytes(b"".join(lines))
    return f"{path.name}: {len(edits)} annotations have shapes now"


def _edits(
    node: ast.FunctionDef, function: Function, recordings: Sequence[Recording], names: NamedSizes
) -> Iterator[Edit]:
    given = [(x.arg, x.annotation) for x in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    for name, annotation in [*given, ("return", node.returns)]:
        if not isinstance(annotation, ast.Name | ast.Attribute):
            continue
        if ast.unparse(annotation).rpartition(".")[2] not in _BARE:
            continue
        shapes = [recording.shapes.get((function.__code__, name), set()) for recording in recordings]
        if all(len(of) == 1 for of in shapes):
            text = ", ".join(
                _words(values, names) for values in zip(*(next(iter(of)) for of in shapes), strict=True)
            )
            yield Edit(annotation.end_lineno or 0, annotation.end_col_offset or 0, f"[tuple[{text or '()'}]]")


# a size as it is written in a type
def _words(values: Sequence[int], names: NamedSizes) -> str:
    found = names.formula(values)
    if found is None or not (found.named or found.value is not None):
        return "int"
    return str(found) if found.named else f"Literal[{found}]"


def _lines_needed(module: ModuleType, text: str, names: NamedSizes) -> Iterator[str]:
    """The lines that words of annotations need and a module does not have."""
    if "Literal[" in text and not hasattr(module, "Literal"):
        yield "from typing import Literal\n"
    missing = [name for name in names if name in text and not hasattr(module, name)]
    yield from ["\n\n"] * bool(missing) + [f"class {name}(int): ...\n" for name in missing]
