"""The site is built without a warning, and its reference has every public name."""

from __future__ import annotations

import importlib
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sphinx.addnodes import desc_name, desc_sig_name
from sphinx.util.inventory import InventoryFile

from tests.documents import ROOT

DOCS = ROOT / "docs"
MODULES = sorted(path.stem for path in (DOCS / "reference").glob("*.md") if path.stem != "index")


# All pages are read and all links resolved, but nothing is written: menus of all pages on each and an index of words
# take half as long again. CI makes the site itself, in a job of its own, and so does the night.
EXTENSIONS = ("myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinxcontrib.mermaid")
BY_DAY = ("-b", "dummy", "-D", "toc_object_entries=0", "-D", f"extensions={','.join(EXTENSIONS)}")
AT_NIGHT = ("-b", "html")


def build(source: Path, site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Make the site of a folder; a warning is an error."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        *options,
        str(source),
        str(site),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def public(name: str) -> set[str]:
    """The names that a module of the reference exports, under the name of that module."""
    module = importlib.import_module("wengert" if name == "wengert" else f"wengert.{name}")
    names = [
        name for name in getattr(module, "__all__", ()) if not isinstance(getattr(module, name), ModuleType)
    ]
    return {f"{module.__name__}.{name}" for name in names}


def missing(documented: set[str]) -> set[str]:
    """The public names that are not among those."""
    elsewhere = {"wengert.control.Do", "wengert.control.UnitContinuation"}  # on the page of `wengert`
    wanted = {name for module in MODULES for name in public(module)} - elsewhere
    assert len(wanted) > 300
    return wanted - documented


@pytest.mark.slow
def test_the_site_has_every_public_name_and_no_warning(tmp_path: Path) -> None:
    done = build(DOCS, tmp_path / "site", *BY_DAY)
    assert done.returncode == 0, done.stdout + done.stderr
    trees = tmp_path / "site" / ".doctrees"  # Sphinx keeps what it has read
    documented = pickle.loads((trees / "environment.pickle").read_bytes()).domaindata["py"]["objects"]
    assert missing({*documented}) == set()
    layers = pickle.loads((trees / "reference" / "nn.doctree").read_bytes())
    names = {name.astext() for name in layers.findall(desc_sig_name)}
    assert "Linear" in {name.astext() for name in layers.findall(desc_name)} and "bias" in names
    assert "given" not in names, "a layer has the signature of its fields"


@pytest.mark.nightly
def test_the_written_site_has_every_public_name_and_no_warning(tmp_path: Path) -> None:
    done = build(DOCS, tmp_path / "site", *AT_NIGHT)
    assert done.returncode == 0, done.stdout + done.stderr
    inventory = InventoryFile.loads((tmp_path / "site" / "objects.inv").read_bytes(), uri="")
    assert missing({name for names in inventory.data.values() for name in names}) == set()
    layers = (tmp_path / "site" / "reference" / "nn.html").read_text(encoding="utf-8")
    assert ">given<" not in layers, "a layer has the signature of its fields"


@pytest.mark.slow
def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    for name in ("conf.py", "docstrings.py"):
        shutil.copy(DOCS / name, tmp_path)
    shutil.copytree(DOCS / "static", tmp_path / "static")
    (tmp_path / "page.md").write_text("# A page\n\n[nowhere](nowhere.md)\n")
    (tmp_path / "README.md").write_text("# Front\n")
    command = ["-D", "root_doc=page", "-D", "suppress_warnings=toc.not_included"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", *command, str(tmp_path), str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "nowhere.md" in done.stderr
