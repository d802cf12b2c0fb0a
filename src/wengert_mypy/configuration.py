"""Configuration of a project: modules whose registrations are visible everywhere.

Knows: `[tool.wengert_mypy] extensions` in pyproject.toml, `[wengert_mypy]` in mypy.ini and setup.cfg.
Refuses to know: what is in those modules.
"""

from __future__ import annotations

import configparser
import tomllib
from hashlib import sha256
from pathlib import Path

SECTION = "wengert_mypy"


def fingerprint() -> str:
    """The plugin's own sources in short: mypy looks at one file of a plugin only, and would keep old answers."""
    made = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        made.update(path.read_bytes())
    return made.hexdigest()[:16]


def extensions(config_file: str | None) -> tuple[str, ...]:
    """The configured extension modules; ValueError where the entry is no list of names."""
    if not config_file or not Path(config_file).is_file():
        return ()
    if config_file.endswith(".toml"):
        with Path(config_file).open("rb") as file:
            given = tomllib.load(file).get("tool", {}).get(SECTION, {}).get("extensions", [])
    else:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(config_file, encoding="utf-8")
        given = parser.get(SECTION, "extensions", fallback="").replace(",", " ").split()
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ValueError(
            f'{config_file}: `extensions` of [{SECTION}] is a list of modules, as ["a.b"]; got {given!r}'
        )
    return tuple(given)
