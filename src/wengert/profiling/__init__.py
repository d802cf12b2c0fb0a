"""Time of runs, by operation and by the line that the user wrote.

Knows: the public names.
Refuses to know: how time is taken, summed and shown.
"""

from __future__ import annotations

from wengert.profiling.measuring import Cost, Profile, Row, profile
from wengert.profiling.programs import ProgramLine, ProgramTimes

__all__ = ["Cost", "Profile", "ProgramLine", "ProgramTimes", "Row", "profile"]
