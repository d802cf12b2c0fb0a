"""Exceptions thrown at a thread from outside, at every place where Python can raise them.

Knows: that CPython looks for signals and for what other threads throw at a call's end, at a function's begin and at a
jump back; that an object whose `__del__` is a function in C trips one after the last instruction of a trace function,
so that it arrives in the traced function and not in the tracing one.
"""

from __future__ import annotations

import ctypes
import opcode
import signal
import sys
import threading
from _thread import interrupt_main  # of what trips a signal, the one that does not look for it itself
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Final

_LOOKS: Final = ("CALL", "RESUME", "JUMP_BACKWARD")  # how the names of instructions begin that look


class Stopped(BaseException):
    """As a handler of SIGTERM raises SystemExit, and pytest-timeout its own."""


def by_signal() -> type:
    """A class whose objects, when they are let go of, send this process a signal; the handler raises Stopped."""

    class Bomb:
        __del__: Any = partial(interrupt_main, signal.SIGUSR1)  # Any: no method, so called without `self`

    return Bomb


def by_thread() -> type:
    """A class whose objects throw Stopped at this thread, as another thread can."""

    class Bomb:
        __del__: Any = partial(  # Any: as above
            ctypes.pythonapi.PyThreadState_SetAsyncExc,
            ctypes.c_ulong(threading.get_ident()),
            ctypes.py_object(Stopped),
        )

    return Bomb


def raise_stopped(number: int, frame: FrameType | None) -> None:
    raise Stopped


class Thrown:
    """Trips one exception before the `at`-th instruction that looks, in functions of Wengert below `within`."""

    def __init__(self, bomb: type, at: int, within: Callable[..., object]) -> None:
        self._bomb, self._at, self._code = bomb, at, within.__code__
        self.met = 0
        self._entered = False

    def run(self, work: Callable[[], object]) -> bool:
        """Whether Stopped came out of `work`, or Python has ignored it, as in the callback of a weak reference."""
        before, hook = sys.gettrace(), sys.unraisablehook
        ignored: list[str] = []

        def told(found: sys.UnraisableHookArgs) -> None:
            if isinstance(found.exc_value, Stopped):
                ignored.append(repr(found.object))
            else:
                hook(found)

        try:
            sys.unraisablehook = told
            sys.settrace(self._called)
            work()
        except Stopped:
            return True
        finally:
            sys.settrace(before)
            sys.unraisablehook = hook
        return bool(ignored)

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:  # Any: as `sys.settrace` has it
        if frame.f_code is self._code:
            self._entered = True
        if not self._entered:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._instruction

    def _instruction(self, frame: FrameType, event: str, argument: object) -> Any:  # Any: as above
        if event == "opcode":
            name = opcode.opname[frame.f_code.co_code[frame.f_lasti]]
            if name.startswith(_LOOKS):
                self.met += 1
                if self.met == self._at:
                    bomb = self._bomb()  # noqa: F841 # trips when this function has ended
        return self._instruction
