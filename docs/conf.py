"""How Sphinx makes the site: `python -m sphinx -W -b html docs build/site`.

Knows: which pages there are, how links between files of the repository become links of the site, and how the plain
docstrings of the library become reStructuredText. Refuses to know: what any page says.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import inspect

import wengert
from wengert.elsewhere import ModelNames

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from docstrings import restructured  # noqa: E402 # a module beside this file, which Sphinx executes from elsewhere

project = "Wengert"
author = "The authors of Wengert"
release = version = wengert.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinxcontrib.mermaid",
]
exclude_patterns = ["pictures", "static"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme = "furo"
html_title = f"Wengert {release}"
html_show_copyright = False
html_show_sphinx = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
suppress_warnings = ["ref.python"]  # a class that two modules export has two names, of which either will do
highlight_language = "python"
mermaid_height = "auto"
mermaid_fullscreen = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autosummary_generate = False
python_maximum_signature_line_length = 88

FRONT = (
    ("](docs/", "]("),
    ("](examples/README.md)", "](examples.md)"),
)
ELSEWHERE = (("](../README.md)", "](index.md)"), ("](../examples/README.md)", "](examples.md)"))


def taken_from(path: Path, links: tuple[tuple[str, str], ...]) -> str:
    """A page of the repository with its links as the site needs them."""
    text = path.read_text(encoding="utf-8")
    for old, new in links:
        text = text.replace(old, new)
    return text


def read(app: Sphinx, name: str, content: list[str]) -> None:
    """The front page is the README, and the page of examples that of their folder."""
    if name == "index":
        content[0] = taken_from(DOCS.parent / "README.md", FRONT) + "\n" + content[0]
    elif name == "examples":
        text = taken_from(DOCS.parent / "examples" / "README.md", ())
        text = re.sub(r"\]\((\w+\.py)\)", r"](../examples/\1)", text).replace(
            "[model_repo](model_repo)", "`model_repo`"
        )
        content[0] = text
    else:
        for old, new in ELSEWHERE:
            content[0] = content[0].replace(old, new)


def document(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """A docstring of the library as reStructuredText."""
    lines[:] = restructured("\n".join(lines)).split("\n")


def constructed(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str, result: str
) -> tuple[str, str] | None:
    """The fields of a layer as its signature: its `__new__`, which refuses sizes, takes whatever is given."""
    if not (isinstance(obj, type) and issubclass(obj, ModelNames)):
        return None
    fields = inspect.signature(obj.__init__, bound_method=True)
    shown = inspect.stringify_signature(fields, show_return_annotation=False, unqualified_typehints=True)
    return shown, ""


def one_signature_each(app: Sphinx, config: object) -> None:
    """Overloads are for checkers: a reader gets the signature of the function itself."""
    for module in pkgutil.walk_packages(wengert.__path__, "wengert."):
        if module.name != "wengert.__main__":
            importlib.import_module(module.name)
            analyzer = ModuleAnalyzer.for_module(module.name)
            if "overload" in analyzer.code:  # to analyze a module takes a tenth of a second
                analyzer.analyze()
                analyzer.overloads.clear()


def setup(app: Sphinx) -> None:
    app.connect("config-inited", one_signature_each)
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", document)
    app.connect("autodoc-process-signature", constructed)
