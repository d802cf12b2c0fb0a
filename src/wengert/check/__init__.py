"""`python -m wengert check`: a model called once on inputs whose sizes have names, and what each layer gives.

Knows: its public names.
Refuses to know: how a model is computed; nothing is run.
"""

from __future__ import annotations

from wengert.check.command import main

__all__ = ["main"]
