"""CIFAR-100: images of 32 x 32 pixels in 100 fine classes, five in each of 20 coarse ones.

Knows: both formats in which it is given away, binary and python, as folder, as archive and as single files.
Refuses to know: networks, and how a pickle is read safely.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeAlias, final, get_args

from wengert.arrays import Float32, HostArray, within
from wengert.arrays.samples import Bytes, Labels, centred, integers, lines
from wengert.data.files import Content, check_part, in_archive, in_folder, mapped
from wengert.data.narrow import PickledArray, unpickled
from wengert.data.rows import Rows
from wengert.errors import DataError
from wengert.graph.paths import Path, path_of

Part: TypeAlias = Literal["train", "test"]
COARSE: Final = 20
FINE: Final = 100
PIXELS: Final = 3 * 32 * 32
_RECORD: Final = 2 + PIXELS  # a byte for each label
_FOLDERS: Final = ("", "cifar-100-binary", "cifar-100-python")


@final
@dataclass(frozen=True, eq=False)
class Cifar100(Rows):
    """Images as bytes, red before green before blue, each row by row; and the two classes of each."""

    images: Bytes[tuple[int, Literal[3072]]]
    coarse: Labels
    fine: Labels

    def pixels(self) -> HostArray[tuple[int, Literal[3072]], Float32]:
        """The images as numbers from -0.5 to 0.5, of which a network learns better than of bytes."""
        return centred(self.images, 255.0)


def cifar100(path: Path, part: Part = "train") -> Cifar100:
    """The images of one part, in a folder or `.tar.gz` archive of either format, or of a single file.

    A binary file has records of 3,074 bytes: coarse class, fine class, pixels; it is mapped into memory, so that an
    image is read when it is used. A python file is a pickle, of which nothing is run. Raises DataError, with file and
    offset, for a file that was cut short, is of another format, is larger than any of these, or has labels that are no
    classes; OSError where there is none; ArgumentError for a path that is none.
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = Path(folder, "test.bin").write_bytes(bytes([4, 99] + 3072 * [255]))
    ...     images = cifar100(folder, "test")
    >>> images.coarse.tolist(), images.fine.tolist(), float(images.pixels().min())
    ([4], [99], 0.5)

    Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009;
    https://www.cs.toronto.edu/~kriz/cifar.html.
    """
    check_part("cifar100", part, get_args(Part))
    place = path_of("cifar100", path, DataError)
    names = [os.path.join(folder, name) for folder in _FOLDERS for name in (f"{part}.bin", part)]
    if os.path.isdir(place):
        found = mapped(in_folder(place, names))
    elif place.endswith((".tar.gz", ".tgz")):
        found = in_archive(place, names)
    else:
        found = mapped(place)
    return _binary(found) if found.place.endswith(".bin") else _python(found)


def _binary(found: Content) -> Cifar100:
    size = len(found.content)
    if size == 0 or size % _RECORD:
        whole = size - size % _RECORD
        raise DataError(
            f"{found.place}: it has {size:,} bytes, which is no multiple of {_RECORD:,}, the bytes of an image and its "
            f"labels; it was cut short, or is of another format: the record at byte {whole:,} is not whole"
        )
    records = lines(found.content, _RECORD)
    coarse, fine = integers(records[:, 0]), integers(records[:, 1])
    for labels, count, offset, what in ((coarse, COARSE, 0, "coarse"), (fine, FINE, 1, "fine")):
        if not within(labels, count):
            i = next(i for i, label in enumerate(labels) if label >= count)
            raise DataError(
                f"{found.place}: byte {i * _RECORD + offset:,} is {labels[i]}, and should be a {what} class, 0 to "
                f"{count - 1}, that of image {i}"
            )
    images: Any = records[:, 2:]  # Any: its width is known to be that of an image
    return Cifar100(images, coarse, fine)


def _python(found: Content) -> Cifar100:
    held = unpickled(found.content, found.place)
    if not isinstance(held, dict):
        raise DataError(f"{found.place}: it holds a {type(held).__name__}, and should hold a dictionary")
    data = _entry(held, "data", found)
    pixels = data.content(PIXELS) if isinstance(data, PickledArray) else None
    if not pixels:
        raise DataError(
            f"{found.place}: 'data' is no array of bytes with {PIXELS:,} in a row, one row an image"
        )
    images: Any = lines(pixels, PIXELS)  # Any: as above
    coarse, fine = (
        _labels(_entry(held, f"{what}_labels", found), count, len(images), f"{what}_labels", found)
        for what, count in (("coarse", COARSE), ("fine", FINE))
    )
    return Cifar100(images, coarse, fine)


def _entry(held: dict[object, object], name: str, found: Content) -> object:
    for key in (name.encode(), name):  # Python 2 wrote bytes
        if key in held:
            return held[key]
    there = ", ".join(sorted(map(_brief, islice(held, 100))))
    raise DataError(f"{found.place}: it has no {name!r}, but {there:.200}")


def _brief(x: object) -> str:
    """The beginning of what stands in a file: a whole text may be as long as the file, a list nested as deep."""
    if isinstance(x, str | bytes):
        return repr(x[:40])
    return f"{x!r:.40}" if x is None or isinstance(x, int | float) else f"a {type(x).__name__}"


def _labels(x: object, count: int, images: int, name: str, found: Content) -> Labels:
    if not isinstance(x, list) or len(x) != images:
        length = f" of {len(x):,}" if isinstance(x, list) else ""
        raise DataError(
            f"{found.place}: {name!r} is a {type(x).__name__}{length}, and should be a list of {images:,} classes"
        )
    for i, label in enumerate(x):
        if type(label) is not int or not 0 <= label < count:
            raise DataError(
                f"{found.place}: {name}[{i}] is {_brief(label)}, and should be a class, 0 to {count - 1}"
            )
    return integers(x)
