"""Effects: `Do`, `gather`, `UnitContinuation`, and the run that performs them.

Knows: nothing by itself; these are the names of this floor.
Refuses to know: numbers, graphs, arrays.
"""

from wengert.control.collecting import without_collector
from wengert.control.context import Context, Executor, Run, replace_executors, set_default_executor
from wengert.control.do import Awaits, Do, Steps, await_here
from wengert.control.gather import gather
from wengert.control.running import running_here
from wengert.control.unit import UnitContinuation

__all__ = [
    "Awaits",
    "Context",
    "Do",
    "Executor",
    "Run",
    "Steps",
    "UnitContinuation",
    "await_here",
    "gather",
    "replace_executors",
    "running_here",
    "set_default_executor",
    "without_collector",
]
