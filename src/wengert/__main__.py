"""`python -m wengert COMMAND`: what can be asked of Wengert in a shell.

Knows: the commands, and which module has each.
Refuses to know: what they do.
"""

from __future__ import annotations

import sys
from typing import Final

from wengert.later import later

COMMANDS: Final = {
    "doctor": ("wengert.doctor", "show what is installed here, and what of it is wrong"),
    "profile": ("wengert.profiling.command", "run a program and show where the time of its runs goes"),
}


def main(arguments: list[str]) -> int:
    """Run one command; the exit status."""
    if arguments and arguments[0] in COMMANDS:
        name, _ = COMMANDS[arguments[0]]
        status: int = later(name, "main")(arguments[1:])  # not before it is asked for
        return status
    asked_for_help = arguments in ([], ["-h"], ["--help"])
    out = sys.stdout if asked_for_help else sys.stderr
    if not asked_for_help:
        print(f"python -m wengert: there is no command {arguments[0]!r}", file=out)
    print("usage: python -m wengert COMMAND ...", file=out)
    for command, (_, what) in COMMANDS.items():
        print(f"  {command:8} {what}", file=out)
    return 0 if asked_for_help else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
