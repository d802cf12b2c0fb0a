"""Discrete Fourier transforms: the functions of the array API standard's `fft`, complex numbers as pairs of arrays.

Knows: the public names.
Refuses to know: any logic.

>>> import numpy as np
>>> import wengert as wg
>>> spectrum = wg.fft.rfft(np.array([1.0, 0.0, -1.0, 0.0]))
>>> (spectrum.real ** 2 + spectrum.imag ** 2).predict().run().tolist()
[0.0, 4.0, 0.0]
"""

from __future__ import annotations

from wengert.ops.creation import fftfreq, rfftfreq
from wengert.ops.fourier import (
    Spectrum,
    fft,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfftn,
    rfft,
    rfftn,
)

__all__ = [
    "Spectrum",
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
