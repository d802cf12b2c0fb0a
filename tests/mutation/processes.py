"""A process for each mutant: it may loop, wait for ever, eat memory or leave children behind.

Knows: how such a process begins, which limits end it, and what is known of its end.
Refuses to know: what happens in it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable

_MEMORY = 6 << 30  # bytes
_WRONG, _STUCK = 2, 1  # the second is what faulthandler exits with
BEGINNING = (60.0, 120.0)  # seconds of CPU and of the wall, before the first `allow`

Tell = Callable[[str], object]


def allow(cpu: float, wall: float) -> None:
    """From within: end this process after so many more seconds; a loop uses up the first, a deadlock the second."""
    limit = math.ceil(time.process_time() + cpu)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    faulthandler.dump_traceback_later(wall, exit=True)


class Process:
    """A process that does `work`, in a group of its own; 0 means that nothing was wrong.

    `work` is given a function for what it is at: the last text is known however the process ends.
    """

    def __init__(self, work: Callable[[Tell], int]) -> None:
        self._at = tempfile.TemporaryFile()  # noqa: SIM115 # `failure` closes it
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _work(work, self._at.fileno())

    def failure(self, status: int) -> str:
        """After its end, which gave this status to `os.waitpid`: empty, or where and how it failed."""
        self.kill()
        with self._at as file:
            file.seek(0)
            at = file.read().decode()
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return f"{at}: {'took too long' if number == signal.SIGXCPU else signal.Signals(number).name}"
        code = os.WEXITSTATUS(status)
        return f"{at}: {'was stuck' if code == _STUCK else 'failed'}" if code else ""

    def kill(self) -> None:
        """What is left of it and of its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def _work(work: Callable[[Tell], int], at: int) -> None:
    """In the new process: never comes back."""
    code = _WRONG
    try:
        os.setpgrp()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        quiet = os.open(os.environ.get("MUTANT_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        allow(*BEGINNING)

        def tell(text: str) -> None:
            os.ftruncate(at, 0)
            os.pwrite(at, text.encode(), 0)

        code = _WRONG if work(tell) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
