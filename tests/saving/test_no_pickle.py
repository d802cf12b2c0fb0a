"""Nothing in a file is ever run: no module that could is imported, or used, where a file is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.saving.models import adam, network, step
from wengert import saving
from wengert.saving import save

LOADING = """
import sys
from tests.saving.models import adam, network
import wengert.saving as saving

FORBIDDEN = {"pickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal", "copyreg", "joblib"}
used = []

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            used.append(name)
            raise ImportError(f"{name} is imported while a file is loaded")

def audit(event, arguments):
    if event in ("pickle.find_class", "marshal.loads", "exec", "compile", "os.system", "subprocess.Popen"):
        used.append(event)

model = network(adam())
for name in FORBIDDEN & sys.modules.keys():
    del sys.modules[name]
sys.meta_path.insert(0, Hook())
if sys.argv[2] == "pickling":
    def load(path, model):
        import pickle
        return pickle.loads(pickle.dumps(range(3)))
else:
    import safetensors
    sys.addaudithook(audit)
    load = saving.load
try:
    load(sys.argv[1], model)
except ImportError:
    pass
print(used)
"""


def used(path: Path, how: str) -> str:
    done = subprocess.run([sys.executable, "-c", LOADING, path, how], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_loading_imports_and_runs_nothing(tmp_path: Path) -> None:
    model = network(adam())
    step(model)
    save(tmp_path / "w", model)
    assert used(tmp_path / "w", "loading") == "[]"


@pytest.mark.slow
def test_the_hook_finds_a_loader_that_pickles(tmp_path: Path) -> None:
    assert used(tmp_path / "w", "pickling") == "['pickle']"


def test_no_source_file_of_saving_names_such_a_module() -> None:
    folder = Path(saving.__file__).parent
    portable = folder / "portable.py"  # expressions, which are programs, and no files of weights
    for source in {*folder.glob("*.py")} - {portable}:
        lines = [line for line in source.read_text().splitlines() if "import" in line]
        assert not any("pickle" in line or "marshal" in line for line in lines), source
