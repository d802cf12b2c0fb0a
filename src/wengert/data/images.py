"""Images: MNIST and CIFAR-10 from files, folders of pictures, and changes by chance that a network learns from.

Knows: the idx and CIFAR-10 binary formats; that each image of a batch has a seed of its own.
Refuses to know: networks; Pillow, until a folder of pictures is read.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final, get_args

from wengert.arrays import Float32, HostArray, is_array, shape_of, within
from wengert.arrays.samples import (
    Bytes,
    Labels,
    centred,
    cropped,
    flipped,
    idx,
    integers,
    lines,
    pictures,
    standard,
)
from wengert.data.files import check_part, in_folder, mapped
from wengert.data.rows import Rows
from wengert.errors import ArgumentError, DataError
from wengert.graph.operand import shown
from wengert.graph.paths import Path, path_of
from wengert.packages import optional
from wengert.site import user_position

Part: TypeAlias = Literal["train", "test"]
Seeds: TypeAlias = int | tuple[int, ...]
_MOST: Final = 2**28  # bytes of a file without its compression; MNIST's have 47 million
_ENDINGS: Final = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".ppm", ".pgm")


@final
@dataclass(frozen=True, eq=False)
class Mnist(Rows):
    """Images of 28 x 28 pixels as bytes, row by row, and their digits."""

    images: Bytes[tuple[int, Literal[784]]]
    labels: Labels

    def pixels(self) -> HostArray[tuple[int, Literal[784]], Float32]:
        """The images as numbers from -0.5 to 0.5."""
        return centred(self.images, 255.0)


def mnist(path: Path, part: Part = "train") -> Mnist:
    """The images of one part of MNIST, or of a set in its format, in a folder with its four files, as `.gz` or without.

    DataError for a file that was cut short, is of another format, or has labels beyond 9 or of another number;
    OSError where there is none.
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     head = bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28])
    ...     _ = Path(folder, "t10k-images-idx3-ubyte").write_bytes(head + bytes(784))
    ...     _ = Path(folder, "t10k-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 7]))
    ...     found = mnist(folder, "test")
    >>> found.images.shape, found.labels.tolist()
    ((1, 784), [7])

    Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits", 1998.
    """
    check_part("mnist", part, get_args(Part))
    folder = path_of("mnist", path, DataError)
    prefix = "train" if part == "train" else "t10k"
    images, labels = (
        _idx(folder, f"{prefix}-{what}", rank) for what, rank in (("images-idx3", 3), ("labels-idx1", 1))
    )
    if shape_of(images)[1:] != (28, 28) or not within(labels, 10):
        raise DataError(
            f"{folder}: its images are of {shape_of(images)[1:]}, or a label is beyond 9: it is no MNIST"
        )
    flat: Any = lines(images.tobytes(), 784)  # Any: its width is known to be that of an image
    return Mnist(flat, integers(labels))


def _idx(folder: str, name: str, rank: int) -> Any:  # Any: bytes of that rank
    names = [f"{name}{ending}" for ending in ("-ubyte", ".ubyte", "-ubyte.gz", ".ubyte.gz")]
    place = in_folder(folder, names)
    content: Any = mapped(place).content
    if place.endswith(".gz"):
        machine = zlib.decompressobj(31)  # as gzip writes
        try:
            content = machine.decompress(bytes(content), _MOST)
        except zlib.error as error:
            raise DataError(f"{place}: it is no whole .gz file: {error}") from error
    made = idx(content, rank)
    if made is None:
        raise DataError(
            f"{place}: it is no whole idx file of bytes with {rank} axes; it was cut short, or is another"
        )
    return made


@final
@dataclass(frozen=True, eq=False)
class Cifar10(Rows):
    """Images of 32 x 32 pixels as bytes, red before green before blue, each row by row; and their classes."""

    images: Bytes[tuple[int, Literal[3072]]]
    labels: Labels

    def pixels(self) -> HostArray[tuple[int, Literal[3072]], Float32]:
        """The images as numbers from -0.5 to 0.5."""
        return centred(self.images, 255.0)


def cifar10(path: Path, part: Part = "train") -> Cifar10:
    """The images of one part of CIFAR-10 in the binary format, in the folder of its files.

    DataError for a file that was cut short, or has labels beyond 9; OSError where there is none.
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "test_batch.bin").write_bytes(bytes([9] + 3072 * [255]))
    ...     found = cifar10(folder, "test")
    >>> found.labels.tolist(), float(found.pixels().min())
    ([9], 0.5)

    Source: A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009.
    """
    check_part("cifar10", part, get_args(Part))
    folder = path_of("cifar10", path, DataError)
    names = ["test_batch"] if part == "test" else [f"data_batch_{i}" for i in range(1, 6)]
    content = b""
    for name in names:
        found = mapped(
            in_folder(folder, [f"{name}.bin", os.path.join("cifar-10-batches-bin", f"{name}.bin")])
        )
        if not len(found.content) or len(found.content) % 3073:
            raise DataError(
                f"{found.place}: it has {len(found.content):,} bytes, which is no multiple of 3,073, the bytes of an "
                f"image and its label; it was cut short, or is of another format"
            )
        content += bytes(found.content)
    records = lines(content, 3073)
    labels = integers(records[:, 0])
    if not within(labels, 10):
        raise DataError(f"{folder}: a label is beyond 9")
    images: Any = records[:, 1:]  # Any: its width is known to be that of an image
    return Cifar10(images, labels)


@final
@dataclass(frozen=True, eq=False)
class Images(Rows):
    """Images as numbers from 0 to 1, (examples, height, width, 3), and the places of their classes in `classes`."""

    images: HostArray[tuple[int, int, int, Literal[3]], Float32]
    labels: Labels


def image_folder(path: Path, size: tuple[int, int]) -> tuple[Images, tuple[str, ...]]:
    """The pictures of a folder with a folder a class, each made as large as `size` (height, width); and the classes.

    Pixels are float32 from 0 to 1, with channels last: `conv2d` takes `moveaxis(x, -1, 1)`. Classes and pictures are in
    the order of their names. PackageError without Pillow (the extra `images`); DataError for a folder without pictures,
    and for a picture that cannot be read; OSError where there is no folder.

    Source: `torchvision.datasets.ImageFolder`.
    """
    folder = path_of("image_folder", path, DataError)
    pillow = optional("PIL.Image", "Pillow", "image_folder", "images")
    classes = tuple(sorted(entry.name for entry in os.scandir(folder) if entry.is_dir()))
    found: list[Any] = []  # Any: pictures of a package without types here
    labels: list[int] = []
    for label, name in enumerate(classes):
        for file in sorted(os.listdir(os.path.join(folder, name))):
            if file.lower().endswith(_ENDINGS):
                place = os.path.join(folder, name, file)
                try:
                    with pillow.open(place) as picture:
                        found.append(picture.convert("RGB").resize(size[::-1]))
                except Exception as error:  # of every decoder
                    raise DataError(f"{place}: it is no picture that can be read: {error!s:.100}") from error
                labels.append(label)
    if not found:
        raise DataError(f"{folder}: it has no folder with a picture ({', '.join(_ENDINGS)}) in it")
    return Images(pictures(found), integers(labels)), classes


def random_crop(images: Any, padding: int, *, seed: Seeds) -> Any:  # Any: arrays of every dtype
    """Each image of (examples, height, width, channels), moved by up to `padding` pixels with zeros beside it.

    Each draws from (seed, its place). ArgumentError for another rank.
    >>> import numpy as np
    >>> images = np.arange(9.0).reshape(1, 3, 3, 1)
    >>> random_crop(images, 1, seed=0).shape, np.array_equal(random_crop(images, 0, seed=0), images)
    ((1, 3, 3, 1), True)

    Source: K. He et al., "Deep Residual Learning for Image Recognition", 2016, section 4.2.
    """
    _images("random_crop", images)
    return cropped(images, int(padding), _seeds(seed))


def random_flip(images: Any, *, seed: Seeds) -> Any:  # Any: as above
    """Each image of (examples, height, width, channels), left and right exchanged in half of the cases.

    Each draws from (seed, its place). ArgumentError for another rank.
    >>> import numpy as np
    >>> images = np.arange(8.0).reshape(4, 1, 2, 1)
    >>> random_flip(images, seed=1)[:, 0, :, 0].tolist()
    [[1.0, 0.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]

    Source: as `random_crop`.
    """
    _images("random_flip", images)
    return flipped(images, _seeds(seed))


def normalize(images: Any, mean: Sequence[float], std: Sequence[float]) -> Any:  # Any: as above
    """(images - mean) / std, for each channel, the last axis, as float32; ArgumentError for a std that is not above 0.

    >>> import numpy as np
    >>> normalize(np.full((1, 1, 1, 2), 3.0), mean=[1.0, 3.0], std=[2.0, 1.0]).tolist()
    [[[[1.0, 0.0]]]]

    Source: as in every textbook.
    """
    _images("normalize", images)
    if not all(s > 0.0 for s in std) or {len(mean), len(std)} != {shape_of(images)[-1]}:
        raise ArgumentError(
            f"normalize: mean and std are a number a channel, of which there are {shape_of(images)[-1]}, std above 0; "
            f"got {mean!r:.40} and {std!r:.40}\n  at {user_position()}"
        )
    return standard(images, mean, std)


def _images(who: str, images: object) -> None:
    if not is_array(images) or len(shape_of(images)) != 4:
        raise ArgumentError(
            f"{who}: images are an array (examples, height, width, channels); got {shown(images)}\n"
            f"  at {user_position()}"
        )


def _seeds(seed: Seeds) -> list[int]:
    return [seed] if isinstance(seed, int) else [*seed]
