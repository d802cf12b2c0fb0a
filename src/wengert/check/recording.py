"""One call of a model, watched: what each layer, function and operation gives on which line, and what is wrong.

Knows: that building an expression performs nothing and has every shape, so that a call is enough; that calls of the
parts of a model, of the functions of its module and, from there, of the library are what a person has written.
Refuses to know: names of sizes: all are numbers here.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType, ModuleType
from typing import Any, Final, TypeAlias

from wengert.check.stated import Function, functions_of, misfits
from wengert.control.do import Question
from wengert.errors import (
    DeviceError,
    DTypeError,
    LazyError,
    NotDifferentiableError,
    ShapeError,
    WengertError,
)
from wengert.graph.kinds import Shape
from wengert.graph.node import Expression, Node
from wengert.graph.structures import parts_of
from wengert.site import OURS, is_ours

Place: TypeAlias = tuple[str, int]  # file and line
_CODES: Final[Mapping[type[WengertError], str]] = {  # those of the mypy plugin
    ShapeError: "shape",
    DTypeError: "dtype",
    DeviceError: "device",
    LazyError: "lazy",
    NotDifferentiableError: "not-differentiable",
}


@dataclass(frozen=True)
class Mistake:
    """Something wrong: where, in which words, with which lines about operands, under which code."""

    place: Place
    text: str
    code: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallResult:
    """Result of one call, with the name of the layer, function or operation and the line of the call."""

    name: str
    place: Place | None
    shape: Shape
    dtype: str


@dataclass
class Recording:
    """Everything that one call has shown."""

    made: list[CallResult] = field(default_factory=list)
    wrong: list[Mistake] = field(default_factory=list)
    shapes: dict[tuple[CodeType, str], set[Shape]] = field(default_factory=dict)  # by function and parameter
    result: object = None


def places_of(model: object) -> dict[int, str]:
    """The parts of a model that can be called, by identity: their places and classes."""
    found: dict[int, str] = {}
    waiting: list[tuple[str, object]] = [("", model)]
    while waiting:
        place, part = waiting.pop()
        if id(part) in found or isinstance(part, Expression):
            continue
        found[id(part)] = f"{place} {type(part).__name__}".strip()
        waiting += [(f"{place}.{name}".strip("."), x) for name, x in parts_of(part)]
    return found


def mistake_of(error: Exception, otherwise: Place) -> Mistake:
    """An exception, on the last line in the folder of `otherwise` that it has passed, or on that place."""
    folder = os.path.dirname(os.path.abspath(otherwise[0])) + os.sep
    passed = [(f.f_code.co_filename, n) for f, n in traceback.walk_tb(error.__traceback__) if not is_ours(f)]
    near = [at for at in passed if os.path.abspath(at[0]).startswith(folder)]
    place = near[-1] if near else otherwise
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return Mistake((error.filename, error.lineno), error.msg, "syntax")
    first, *rest = str(error).splitlines() or [""]
    code = next((code for of, code in _CODES.items() if isinstance(error, of)), type(error).__name__)
    return Mistake(place, first, code, tuple(line for line in rest if not line.lstrip().startswith("at ")))


def recorded(
    call: Callable[[], object], model: object, module: ModuleType, sizes: Mapping[str, int]
) -> Recording:
    """A call with everything that it shows; an exception is the last thing that is wrong."""
    recording = Recording()
    watch = _Watch(recording, places_of(model), functions_of(module), sizes)
    try:
        with watch.watching():
            recording.result = call()
    except Exception as error:
        recording.wrong.append(mistake_of(error, (module.__file__ or "", 1)))
    else:
        recording.wrong += watch.forgotten(recording.result)
    return recording


class _Watch:
    """An observer that Python calls at each call and return of a function."""

    def __init__(
        self,
        recording: Recording,
        places: Mapping[int, str],
        functions: Mapping[CodeType, Function],
        sizes: Mapping[str, int],
    ) -> None:
        self._recording = recording
        self._places = places
        self._functions = functions
        self._sizes = sizes
        self._waiting: dict[int, tuple[Question[Any], Place]] = {}  # Any: whatever a training gives

    @contextmanager
    def watching(self) -> Generator[None]:
        before = sys.getprofile()
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(before)

    def _see(self, frame: FrameType, event: str, value: object) -> None:
        if event == "call":
            self._called(frame)
        elif event == "return":
            self._returned(frame, value)

    def _called(self, frame: FrameType) -> None:
        if self._waiting:
            for x in frame.f_locals.values():
                if self._waiting.pop(id(x), None):
                    break
        function = self._functions.get(frame.f_code)
        if function is not None:
            here = frame.f_code.co_filename, frame.f_code.co_firstlineno
            self._compare(function, frame, dict(frame.f_locals), _line_of(frame.f_back, frame) or here)

    def _returned(self, frame: FrameType, value: Any) -> None:  # Any: whatever a function gives
        code, caller = frame.f_code, frame.f_back
        if isinstance(value, Question) and value.method == "train" and code.co_name == "train":
            self._waiting[id(value)] = value, _line_of(caller, frame) or (code.co_filename, frame.f_lineno)
        function = self._functions.get(code)
        if function is not None:
            self._compare(function, frame, {"return": value}, (code.co_filename, frame.f_lineno))
        # of a state, what comes out of a cell
        first = value[0] if isinstance(value, tuple) and value else value
        shape = first.kind.shape if isinstance(first, Expression) else None
        if shape is None:
            return
        name = self._places.get(id(frame.f_locals.get("self"))) if code.co_name[:2] == "__" else None
        if name is None and function is not None:
            name = function.__qualname__
        if name is None and OURS[code.co_filename] and caller is not None and not is_ours(caller):
            name = first.signature.operation.name if isinstance(first, Node) else None
        if name is not None:
            made = CallResult(name, _line_of(caller, frame), shape, str(first.kind.dtype))
            self._recording.made.append(made)

    def _compare(
        self, function: Function, frame: FrameType, given: Mapping[str, object], place: Place
    ) -> None:
        for name, x in given.items():
            shape = x.kind.shape if isinstance(x, Expression) else None
            if shape is not None:
                self._recording.shapes.setdefault((frame.f_code, name), set()).add(shape)
        for _, text in misfits(function, given, self._sizes):
            mistake = Mistake(place, text, "shape")
            if mistake not in self._recording.wrong:
                self._recording.wrong.append(mistake)

    def forgotten(self, result: object) -> Iterator[Mistake]:
        """Steps of training that were described, and that nobody has run or given back."""
        for step, place in self._waiting.values():
            if step is not result:
                text = "this step of training is described and never run; write loss.train().run()"
                yield Mistake(place, text, "unused-awaitable")


def _line_of(frame: FrameType | None, called: FrameType) -> Place | None:
    """The line of the nearest frame outside the library; of what is called from here, that of its definition."""
    while frame is not None and is_ours(frame):
        frame = None if frame.f_globals.get("__name__") == __name__ else frame.f_back
    if frame is not None:
        return frame.f_code.co_filename, frame.f_lineno
    return None if is_ours(called) else (called.f_code.co_filename, called.f_code.co_firstlineno)
