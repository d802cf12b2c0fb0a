"""A pickle read as data: dictionaries, lists, tuples, numbers, texts and arrays of bytes, and nothing else.

Knows: the opcodes that such a pickle consists of, each of which is carried out here, in time and memory in proportion
to the bytes that there are; and the few names that a pickled array needs, each with a stand-in, so that none of
Python's or numpy's own code meets what a stranger wrote.
Refuses to know: every other opcode and name; importing and calling are what makes pickles dangerous. A key is bytes or
a text, so that nothing nested is ever hashed; what is found is never printed, compared or walked through here.
"""

from __future__ import annotations

import codecs
import math
import mmap
import re
import struct
from collections.abc import Callable
from typing import Final, TypeAlias, final

from wengert.errors import DataError

_ARRAYS: Final = ("numpy.core.multiarray", "numpy._core.multiarray")
# CIFAR-100's larger file takes 250,000, and in the text form 350,000; an opcode of one byte may make an object of 64
_MOST: Final = 500_000
_MOST_ITEMS: Final = 16  # of a tuple in a tuple, such as the shape in the state of an array
_LINE: Final = 1000  # bytes of a name or a number in the text form; the longest that is needed has 30
_INTEGER: Final = re.compile(rb"[-+]?[0-9]{1,20}L?")
# what `repr` writes in Python 2; the two groups give nothing back, so that no text is gone through twice
_QUOTED: Final = re.compile(rb"""(?:[^\\]++|\\(?:[\\'"nrt]|x[0-9a-fA-F]{2}))*+""")
Buffer: TypeAlias = bytes | mmap.mmap


class Refused(Exception):
    """Reason not to read a pickle further."""


@final
class ElementType:
    """Stand-in for a dtype; its code is a kind and a size, as in "u1"."""

    __slots__ = ("code",)

    def __init__(self, code: str) -> None:
        self.code = code


@final
class PickledArray:
    """Stand-in for an array: its shape, its element type and its bytes, none of them checked yet."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        self.state: object = None

    def content(self, width: int) -> bytes | None:
        """The bytes of a C-ordered array of bytes, n x `width`; None if it is no such array."""
        match self.state:
            case (_, (int(n), int(m)), ElementType(code="u1"), False | 0, bytes(content)) if m == width:
                return content if n >= 0 and len(content) == math.prod((n, m)) else None
            case _:
                return None


def _array(given: tuple[object, ...]) -> PickledArray:
    return PickledArray()  # of no size, as numpy's own would be; the state comes after


def _element_type(given: tuple[object, ...]) -> ElementType:
    match given:
        case (str(code), *_) if len(code) < 16:
            return ElementType(code)
        case (bytes(code), *_) if len(code) < 16:
            return ElementType(code.decode("latin-1"))
        case _:
            raise Refused("it has an array of elements without a code")


def _encoded(given: tuple[object, ...]) -> bytes:
    """Bytes, as Python 3 writes them for Python 2."""
    match given:
        case (str(text),) | (str(text), "latin1" | "latin-1"):
            return text.encode("latin-1")
        case _:
            raise Refused("it has bytes in an encoding other than latin1")


@final
class _Name:
    """Name that a pickle may ask for; nothing but a REDUCE makes use of it."""

    __slots__ = ("made",)

    def __init__(self, made: Callable[[tuple[object, ...]], object]) -> None:
        self.made = made


_NAMES: Final = {
    ("numpy", "ndarray"): _Name(_array),
    ("numpy", "dtype"): _Name(_element_type),
    **{(module, "_reconstruct"): _Name(_array) for module in _ARRAYS},
    ("_codecs", "encode"): _Name(_encoded),
}


@final
class _Reader:
    """Carries out the opcodes, one after the other; what is put together stands on a stack."""

    def __init__(self, content: Buffer) -> None:
        self.content = memoryview(content)
        self.at = 0
        self.stack: list[object] = []
        self.marks: list[int] = []
        self.memo: dict[int, object] = {}
        # a text becomes bytes once; there are no more bytes than the file has
        self.unencoded = len(self.content)

    def read(self) -> object:
        actions, content, end = _ACTIONS, self.content, len(self.content)
        for _ in range(_MOST):
            if self.at >= end:
                raise Refused("it ends before its last opcode")
            code = content[self.at]
            self.at += 1
            if code == 0x2E:  # STOP
                return self.pop()
            action = actions.get(code)
            if action is None:
                raise Refused(f"it has the opcode {bytes((code,))!r}, which no dictionary of arrays needs")
            action(self)
        raise Refused(f"it has more than {_MOST:,} opcodes")

    def take(self, count: int) -> memoryview:
        """The next bytes, which must all be there: nothing is made room for that is not."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.content):
            raise Refused("it ends in the middle of a value")
        return self.content[start : self.at]

    def whole(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def line(self, most: int) -> bytes:
        """The bytes up to the next end of a line."""
        start, size, most = self.at, 32, min(most, len(self.content) - self.at)
        while True:  # twice as many bytes each time: no line is copied more than about twice
            head = bytes(self.content[start : start + min(size, most)])
            if (end := head.find(b"\n")) >= 0:
                self.at = start + end + 1
                return head[:end]
            if size >= most:
                break
            size *= 2
        raise Refused(f"a line in it does not end within {most:,} bytes")

    def pop(self) -> object:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise Refused("an opcode in it lacks a value")
        return self.stack.pop()

    def above(self) -> list[object]:
        """All values above the last mark, and the mark, taken off."""
        if not self.marks:
            raise Refused("an opcode in it lacks a mark")
        mark = self.marks.pop()
        found = self.stack[mark:]
        del self.stack[mark:]
        return found

    def top(self) -> object:
        if not self.stack:
            raise Refused("an opcode in it lacks a value")
        return self.stack[-1]

    def text_string(self) -> bytes:
        line = self.line(len(self.content)).strip()
        if len(line) < 2 or line[0] != line[-1] or line[:1] not in (b"'", b'"'):
            raise Refused("it has a string without quotes")
        if not _QUOTED.fullmatch(line, 1, len(line) - 1):
            raise Refused("it has a string with an escape that is none")
        return codecs.escape_decode(line[1:-1])[0]

    def text_integer(self) -> int | bool:
        line = self.line(_LINE).strip()
        if line in (b"00", b"01"):  # how protocol 1 writes truth values
            return line == b"01"
        if not _INTEGER.fullmatch(line):
            raise Refused("it has a number that is none")
        return int(line.rstrip(b"L"))

    def named(self, module: object, name: object) -> _Name:
        if type(module) is not str or type(name) is not str:
            raise Refused("it asks for something whose name is no text")
        found = _NAMES.get((module, name))
        if found is None:
            raise Refused(f"it asks for {module[:60]}.{name[:60]}, which no array of bytes needs")
        return found

    def reduce(self) -> object:
        given, name = self.pop(), self.pop()
        if type(name) is not _Name or type(given) is not tuple:
            raise Refused("it calls what is no part of an array")
        made = name.made(given)
        if type(made) is bytes:
            self.unencoded -= len(made)
            if self.unencoded < 0:
                raise Refused("it makes more bytes than it has")
        return made

    def build(self) -> None:
        state, made = self.pop(), self.top()
        if type(made) is PickledArray:
            made.state = state
        elif type(made) is not ElementType:  # its byte order and fields say nothing of single bytes
            raise Refused("it would change what is no array")

    def extend(self, values: list[object]) -> None:
        into = self.top()
        if type(into) is not list:
            raise Refused("it appends to what is no list")
        into += values

    def enter(self, values: list[object]) -> None:
        into = self.top()
        if type(into) is not dict:
            raise Refused("it enters something into what is no dictionary")
        into.update(_entries(values))

    def remember(self, index: int) -> None:
        if index >= _MOST:
            raise Refused(f"it numbers a value {index:,}; no more than {_MOST:,} are read")
        self.memo[index] = self.top()

    def recall(self, index: int) -> object:
        try:
            return self.memo[index]
        except KeyError:
            raise Refused(f"it goes back to value {index}, which it does not have") from None


def _entries(values: list[object]) -> dict[object, object]:
    keys = values[::2]
    if len(values) % 2 or not all(type(key) is bytes or type(key) is str for key in keys):
        raise Refused("it has a dictionary whose keys are not all texts")
    return dict(zip(keys, values[1::2], strict=True))


def _pushing(value: Callable[[_Reader], object]) -> Callable[[_Reader], None]:
    return lambda reader: reader.stack.append(value(reader))


def _number(index: bytes) -> int:
    if not index.isdigit() or len(index) > 20:
        raise Refused("it has a number that is none")
    return int(index)


def _tuple(count: int) -> Callable[[_Reader], tuple[object, ...]]:
    return lambda r: _flat([r.pop() for _ in range(count)][::-1])


def _flat(values: list[object]) -> tuple[object, ...]:
    """A tuple; those in it are short and have no others in them, as in the state of an array."""
    for value in values:
        if type(value) is tuple and (len(value) > _MOST_ITEMS or tuple in map(type, value)):
            raise Refused("it has tuples within tuples within tuples, which no array needs")
    return tuple(values)


def _bytes(size: int) -> Callable[[_Reader], bytes]:
    return lambda r: bytes(r.take(r.whole(size)))


def _text(size: int) -> Callable[[_Reader], str]:
    return lambda r: str(r.take(r.whole(size)), "utf-8", "surrogatepass")


def _floating(reader: _Reader) -> float:
    found: float = struct.unpack(">d", reader.take(8))[0]
    return found


def _skipping(size: int) -> Callable[[_Reader], None]:
    """Past the version of a pickle, or the length of a frame, which say nothing about values."""

    def skip(reader: _Reader) -> None:
        reader.take(size)

    return skip


# By the names that pickletools gives them. Left out are those that import, call or change something (EXT1, INST, OBJ,
# NEWOBJ, PERSID), that double or drop what is there (DUP, POP), and sets, of which no array needs one.
_VALUES: Final[dict[bytes, Callable[[_Reader], object]]] = {
    b"N": lambda r: None,  # NONE
    b"\x88": lambda r: True,  # NEWTRUE
    b"\x89": lambda r: False,  # NEWFALSE
    b"K": lambda r: r.whole(1),  # BININT1
    b"M": lambda r: r.whole(2),  # BININT2
    b"J": lambda r: int.from_bytes(r.take(4), "little", signed=True),  # BININT
    b"\x8a": lambda r: int.from_bytes(r.take(r.whole(1)), "little", signed=True),  # LONG1; LONG4 has no end
    b"I": lambda r: r.text_integer(),  # INT
    b"L": lambda r: r.text_integer(),  # LONG
    b"G": _floating,  # BINFLOAT
    b"F": lambda r: float(r.line(_LINE)),  # FLOAT
    b"U": _bytes(1),  # SHORT_BINSTRING: a text of Python 2 is bytes
    b"T": _bytes(4),  # BINSTRING
    b"C": _bytes(1),  # SHORT_BINBYTES
    b"B": _bytes(4),  # BINBYTES
    b"\x8e": _bytes(8),  # BINBYTES8
    b"S": lambda r: r.text_string(),  # STRING
    b"\x8c": _text(1),  # SHORT_BINUNICODE
    b"X": _text(4),  # BINUNICODE
    b"\x8d": _text(8),  # BINUNICODE8
    b"V": lambda r: str(r.line(len(r.content)), "raw-unicode-escape"),  # UNICODE
    b")": lambda r: (),  # EMPTY_TUPLE
    b"\x85": _tuple(1),  # TUPLE1
    b"\x86": _tuple(2),  # TUPLE2
    b"\x87": _tuple(3),  # TUPLE3
    b"t": lambda r: _flat(r.above()),  # TUPLE
    b"]": lambda r: [],  # EMPTY_LIST
    b"l": lambda r: r.above(),  # LIST
    b"}": lambda r: {},  # EMPTY_DICT
    b"d": lambda r: _entries(r.above()),  # DICT
    b"c": lambda r: r.named(str(r.line(_LINE), "utf-8"), str(r.line(_LINE), "utf-8")),  # GLOBAL
    b"\x93": lambda r: r.named(*_tuple(2)(r)),  # STACK_GLOBAL
    b"R": lambda r: r.reduce(),  # REDUCE
    b"g": lambda r: r.recall(_number(r.line(_LINE))),  # GET
    b"h": lambda r: r.recall(r.whole(1)),  # BINGET
    b"j": lambda r: r.recall(r.whole(4)),  # LONG_BINGET
}
_OTHERS: Final[dict[bytes, Callable[[_Reader], None]]] = {
    b"\x80": _skipping(1),  # PROTO
    b"\x95": _skipping(8),  # FRAME
    b"(": lambda r: r.marks.append(len(r.stack)),  # MARK
    b"a": lambda r: r.extend([r.pop()]),  # APPEND
    b"e": lambda r: r.extend(r.above()),  # APPENDS
    b"s": lambda r: r.enter([*_tuple(2)(r)]),  # SETITEM
    b"u": lambda r: r.enter(r.above()),  # SETITEMS
    b"b": lambda r: r.build(),  # BUILD
    b"p": lambda r: r.remember(_number(r.line(_LINE))),  # PUT
    b"q": lambda r: r.remember(r.whole(1)),  # BINPUT
    b"r": lambda r: r.remember(r.whole(4)),  # LONG_BINPUT
    b"\x94": lambda r: r.remember(len(r.memo)),  # MEMOIZE
}
_ACTIONS: Final = {code[0]: _pushing(value) for code, value in _VALUES.items()} | {
    code[0]: action for code, action in _OTHERS.items()
}


def unpickled(content: Buffer, place: str) -> object:
    """Content of a pickle, read without running anything; DataError for one that needs more, or is none."""
    try:
        return _Reader(content).read()
    except (Refused, ValueError) as error:  # ValueError: a text that is none, such as UTF-8 that is broken
        raise DataError(f"{place}: it is no pickle that can be read safely: {error!s:.200}") from error
