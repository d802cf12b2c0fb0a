"""Weights on disk: safetensors files with a manifest, replaced at once, read without pickle.

Knows: its public names.
Refuses to know: interpreters' insides; loops, which say when to save.
"""

from __future__ import annotations

from wengert.saving.checkpoint import Checkpoint, load, names, save
from wengert.saving.portable import Portable, portable

__all__ = ["Checkpoint", "Portable", "load", "names", "portable", "save"]
