"""The safetensors file: a header, then the bytes of all values.

Knows: the package that writes and reads it; that the header and the manifest in it must say the same, and that
what was written is compared with what was given; where the tensors of other writers are, of which some may be read.
Refuses to know: weights, and where bytes are kept.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, cast

from wengert.arrays import Stored, StoredForm, Value, exactly
from wengert.errors import CheckpointError, CheckpointPackageError
from wengert.saving.manifest import Broken, Manifest, bounded, brief, parsed, read, written
from wengert.site import user_position

_CODES: Final = {
    "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
}
_DTYPES: Final = {code: dtype for dtype, code in _CODES.items()} | {"BF16": "bfloat16"}
_KEY: Final = "wengert"  # of the manifest in the header's metadata
_LONGEST: Final = 100_000_000  # bytes of a header that the package itself reads


class _Package(Protocol):
    """The used part of safetensors; its own stubs leave these without types."""

    __version__: str
    SafetensorError: type[Exception]

    def serialize(
        self, tensors: Mapping[str, Mapping[str, object]], metadata: Mapping[str, str], /
    ) -> bytes: ...

    # Any: by "dtype", "shape" and "data"
    def deserialize(self, content: bytes, /) -> list[tuple[str, dict[str, Any]]]: ...


def _package() -> _Package:
    try:
        return cast(_Package, importlib.import_module("safetensors"))
    except ImportError as error:
        raise CheckpointPackageError(
            "wengert.saving reads and writes files with the package safetensors, which is not installed; write "
            "pip install 'wengert[saving]'"
        ) from error


def encoded(manifest: Manifest, values: Mapping[str, Stored]) -> bytes:
    """The whole file, read back and compared: a release of the package has corrupted arrays before.

    CheckpointError for a header that would not be read.
    """
    package = _package()
    tensors = {
        name: {"dtype": form.dtype, "shape": list(form.shape), "data": data}
        for name, (form, data) in values.items()
    }
    try:
        text = written(manifest)
        content = package.serialize(tensors, {_KEY: text})
    except TypeError as error:  # as from 0.8 on, which the extra leaves out
        raise CheckpointPackageError(
            f"safetensors {package.__version__} takes arrays in another form, so nothing was saved; write "
            "pip install 'wengert[saving]', which installs a release that does not"
        ) from error
    _check_header(content, text, len(manifest.weights))
    try:
        same = decoded(content, manifest.forms()) == values
    except Broken:
        same = False
    if not same:
        raise CheckpointError(
            f"safetensors {package.__version__} did not write what it was given, so nothing was saved; install "
            "another release of it"
        )
    return bytes(content)


def _check_header(content: bytes, text: str, weights: int) -> None:
    """CheckpointError for what `opened` would refuse to read."""
    length = int.from_bytes(content[:8], "little")
    try:
        _check_length(length)
        bounded(content[8 : 8 + length], "its header", weights)
        bounded(text.encode(), "its manifest", weights)
    except Broken as reason:
        raise CheckpointError(
            f"nothing was saved, for the file could not be loaded: {reason}; save fewer weights in a file, or a "
            f"shorter note\n  at {user_position()}"
        ) from reason


def decoded(content: bytes, forms: Mapping[str, StoredForm]) -> dict[str, Stored]:
    """The values of a whole file, which must have exactly these forms; else Broken."""
    package = _package()
    try:
        found = dict(package.deserialize(content))
    except package.SafetensorError as error:
        raise Broken(f"safetensors refuses it: {error!s:.200}") from error
    if found.keys() != forms.keys():
        differing = ", ".join(map(brief, sorted(found.keys() ^ forms.keys())[:5]))
        raise Broken(f"its header and its manifest do not have the same names: {differing}")
    values: dict[str, Stored] = {}
    for name, form in forms.items():
        tensor = found[name]
        if (tensor["dtype"], tuple(tensor["shape"])) != (_CODES[form.dtype], form.shape):
            says = f"{tensor['dtype']} of shape {tuple(tensor['shape'])}"
            raise Broken(f"its header says that {brief(name)} is {says:.200}, its manifest {form!s:.200}")
        values[name] = Stored(form, bytes(tensor["data"]))
    return values


class Entry(NamedTuple):
    """One tensor in a file: the package's code of its elements, shape, and where its bytes are."""

    code: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> str:
        return _DTYPES.get(self.code, self.code)

    def __str__(self) -> str:
        return f"{self.dtype:.40} of shape {self.shape!s:.200}"

    @property
    def nbytes(self) -> int:
        bits = int("".join(filter(str.isdigit, self.code.partition("_")[0])) or 8)
        return math.prod(self.shape) * bits // 8


class Container:
    """A file that is open, where so many weights are expected: its header is read, and Broken if there is none."""

    def __init__(self, file: BinaryIO, weights: int) -> None:
        self.file = file
        self.size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self.start = _header(file, self.size)
        self.header = parsed(self.start[8:], "its header", weights)
        metadata = self.header.get("__metadata__")
        text = metadata.get(_KEY) if isinstance(metadata, dict) else None
        self.manifest = read(text, weights) if isinstance(text, str) else None

    def values(self, manifest: Manifest) -> dict[str, Stored]:
        """All values of a file that `save` wrote."""
        forms = manifest.forms()
        expected = len(self.start) + sum(form.size or 0 for form in forms.values())
        if self.size != expected:
            raise Broken(
                f"it has {self.size:,} bytes and should have {expected:,}: it was cut short or added to"
            )
        content = self.start + self.file.read(expected - len(self.start))
        return decoded(content, forms)

    def entries(self) -> dict[str, Entry]:
        """All tensors, in the order of the header, each checked to be within the file."""
        room = self.size - len(self.start)
        found = {name: _entry(name, x) for name, x in self.header.items() if name != "__metadata__"}
        beyond = next((name for name, x in found.items() if x.end > room), None)
        if beyond is not None:
            raise Broken(f"{brief(beyond)} ends after the {self.size:,} bytes of the file: it was cut short")
        return found

    def weights(self) -> list[str]:
        """The names of all tensors but those of optimizers' state."""
        if self.manifest is not None:
            return [*self.manifest.weights]
        return [*self.entries()]

    def value(self, name: str, entry: Entry) -> Value:
        """One tensor, as an array; no other is read."""
        self.file.seek(len(self.start) + entry.begin)
        data = self.file.read(entry.end - entry.begin)
        value = exactly(data, entry.dtype, entry.shape) if entry.nbytes == len(data) else None
        if value is None:
            raise Broken(
                f"{brief(name)} is {entry.dtype:.40} of shape {entry.shape!s:.200} in {len(data):,} bytes"
            )
        return value


def _entry(name: str, x: object) -> Entry:
    found = x if isinstance(x, dict) else {}
    code, shape, at = (found.get(key) for key in ("dtype", "shape", "data_offsets"))
    ints = [*shape, *at] if isinstance(shape, list) and isinstance(at, list) and len(at) == 2 else [-1]
    if (
        not isinstance(code, str)
        or len(code) > 16
        or len(ints) > 66
        or not all(type(n) is int and 0 <= n < 2**63 for n in ints)
    ):
        raise Broken(f"its header says of {brief(name)} what is said of no tensor: {brief(x)}")
    *axes, begin, end = ints
    if begin > end:
        raise Broken(f"{brief(name)} ends before it begins")
    return Entry(code, tuple(axes), begin, end)


def _header(file: BinaryIO, size: int) -> bytes:
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or length > size - 8:
        raise Broken(
            f"it has {size:,} bytes, which is less than its header needs: it was cut short, or is another file"
        )
    _check_length(length)
    return first + file.read(length)


def _check_length(length: int) -> None:
    if length > _LONGEST:
        raise Broken(f"its header has {length:,} bytes; no more than {_LONGEST:,} are read")
