"""The safetensors file: a header, then the bytes of all values.

Knows: the package that writes and reads it; that the header and the manifest in it must say the same, and that
what was written is compared with what was given.
Refuses to know: weights, and where bytes are kept.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, Protocol, cast

from wengert.arrays import Stored, StoredForm
from wengert.errors import CheckpointError, CheckpointPackageError
from wengert.graph.paths import opened as opened_file
from wengert.saving.manifest import Broken, Manifest, bounded, brief, parsed, read, written
from wengert.site import user_position

_CODES: Final = {
    "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
}
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


def opened(path: str, weights: int, agree: Callable[[Manifest], None]) -> tuple[Manifest, dict[str, Stored]]:
    """The manifest and the values of a file, where one of so many weights is expected; else Broken.

    Values are read after `agree` has raised nothing.
    """
    with opened_file("load", path, CheckpointError) as file:
        size = os.fstat(file.fileno()).st_size
        start = _header(file, size)
        metadata = parsed(start[8:], "its header", weights).get("__metadata__")
        text = metadata.get(_KEY) if isinstance(metadata, dict) else None
        if not isinstance(text, str):
            raise Broken("it has no manifest, so `wengert.saving.save` did not write it")
        manifest = read(text, weights)
        agree(manifest)
        forms = manifest.forms()
        expected = len(start) + sum(form.size or 0 for form in forms.values())
        if size != expected:
            raise Broken(f"it has {size:,} bytes and should have {expected:,}: it was cut short or added to")
        content = start + file.read(expected - len(start))
    return manifest, decoded(content, forms)


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
