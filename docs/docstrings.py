"""Docstrings of the library as reStructuredText.

Knows: that they are plain text with `code` in single backticks, doctests, labels such as "Shapes:" where a line begins,
and arguments as "name: text" with further lines indented. Refuses to know: Sphinx.

>>> print(restructured("Twice x, as `2 * x`.\\n\\nShapes: () to (); one *dtype*."))
Twice x, as ``2 * x``.
<BLANKLINE>
**Shapes:** () to (); one \\*dtype\\*.
<BLANKLINE>
"""

from __future__ import annotations

import re

LABEL = re.compile(
    r"(Derivatives?|Second derivative|Shapes?|Dtypes?|Raises|Source|Sources|Example|Memory|Units|Bits)\b:?"
)
ARGUMENT = re.compile(r"((?:\*{0,2}[a-z_]\w*)(?:, \*{0,2}[a-z_]\w*)*): ")
CODE = re.compile(r"(`+)([^`]+)\1")


def inline(text: str) -> str:
    """Prose with its code marked, and all else that would be markup escaped."""
    parts: list[str] = []
    end = 0
    for found in CODE.finditer(text):
        parts += [escaped(text[end : found.start()]), f"``{found[2].strip()}``"]
        end = found.end()
        if text[end : end + 1].isalnum():
            parts.append("\\ ")  # a letter right after code: `Do`s
    return "".join([*parts, escaped(text[end:])])


def escaped(text: str) -> str:
    return re.sub(r"([\\*|`]|_(?=\W|$))", r"\\\1", text)


def paragraphs(text: str) -> list[list[str]]:
    """Lines that belong together: prose, a doctest, an argument with its indented lines."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        last = found[-1]
        in_doctest = bool(last) and last[0].lstrip().startswith(">>>")
        starts = line.startswith(">>>") and not in_doctest
        labelled = not in_doctest and (LABEL.match(line) or ARGUMENT.match(line))
        if not line.strip() or (last and (starts or labelled)):
            found.append([])
        if line.strip():
            found[-1].append(line)
    return [lines for lines in found if lines]


def one(lines: list[str]) -> list[str]:
    """One paragraph, written out."""
    if lines[0].lstrip().startswith(">>>"):
        return lines
    text = inline(" ".join(line.strip() for line in lines))
    if label := LABEL.match(text):
        return [f"**{label[0]}**{text[label.end() :]}"]
    if (argument := ARGUMENT.match(lines[0])) and (len(lines) == 1 or lines[1].startswith("    ")):
        name = inline(argument[1])
        return [f"- **{name}**: {inline(' '.join(line.strip() for line in lines)[argument.end() :])}"]
    if all(line.startswith("    ") for line in lines):
        return ["::", "", *lines]
    return [text]


def restructured(text: str) -> str:
    """The docstring as reStructuredText."""
    return "\n".join(line for lines in paragraphs(text) for line in [*one(lines), ""])
