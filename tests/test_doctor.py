"""`python -m wengert doctor`: what it finds, and that it fails where something is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.mypy_plugin.checking import ADVISED, WITHOUT_PLUGIN, advised_cache
from wengert import doctor
from wengert.arrays import dispatch
from wengert.doctor import REQUIREMENTS, Finding, Requirement, configured

ROOT = Path(__file__).resolve().parent.parent
ON = f'{ADVISED}files = ["src"]\n'


def asked(folder: Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    sources = os.pathsep.join(str(ROOT / part) for part in ("src", "stubs"))
    known = {} if cache is None else {"MYPY_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-m", "wengert", "doctor"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "MYPYPATH": sources, **known},
        capture_output=True,
        text=True,
    )


def line(output: str, what: str) -> str:
    """The line about it."""
    (found,) = [x for x in output.splitlines() if x[2:21].rstrip() == what]
    return found


@pytest.mark.slow
def test_all_is_well_in_a_project_with_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(ON)
    done = asked(tmp_path, advised_cache(tmp_path.parent))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("nothing is wrong\n")
    assert f"active by {tmp_path / 'pyproject.toml'}" in line(done.stdout, "mypy plugin")
    for what in ("wengert", "python", "numpy", "typing-extensions", "mypy", "safetensors", "BLAS", "cupy"):
        assert line(done.stdout, what)
    assert re.search(r"\d+ thread", line(done.stdout, "BLAS"))


@pytest.mark.slow
def test_a_project_with_the_plugin_off_is_wrong_and_a_folder_without_a_project_is_not(tmp_path: Path) -> None:
    project, empty = tmp_path / "project", tmp_path / "empty"
    project.mkdir()
    empty.mkdir()
    (project / "pyproject.toml").write_text(WITHOUT_PLUGIN)
    done = asked(project, advised_cache(tmp_path.parent, plugin=False))
    assert done.returncode == 1
    assert line(done.stdout, "mypy plugin").startswith("! mypy plugin")
    assert 'plugins = ["wengert_mypy"]' in done.stdout
    assert done.stdout.endswith("1 of these is wrong\n")
    done = asked(empty)
    assert done.returncode == 0
    said = line(done.stdout, "mypy plugin")
    assert 'no mypy configuration here; write [tool.mypy] and plugins = ["wengert_mypy"]' in said


@pytest.mark.slow
def test_a_plugin_that_mypy_cannot_load_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = wengert_mypy_misspelt\n")
    done = asked(tmp_path)
    assert done.returncode == 1
    assert "wengert_mypy_misspelt" in line(done.stdout, "mypy plugin")


@pytest.mark.parametrize(
    ("found", "fits"),
    [("0.3.9", False), ("0.4", True), ("0.4.0rc1", True), ("0.7.2", True), ("0.8.0", False), ("1.0", False)],
)
def test_versions_are_compared_as_numbers(found: str, fits: bool) -> None:
    assert Requirement("safetensors", "0.4", "0.8").fits(found) is fits
    assert Requirement("numpy", "2.2", "").fits("2.10") is True


@pytest.mark.parametrize(
    ("name", "found", "advice"),
    [
        ("numpy", "2.1.3", "pip install 'numpy>=2.2,<3'"),
        ("safetensors", "0.8.0", "pip install 'safetensors>=0.4,<0.8'"),
        ("typing-extensions", "4.4", "pip install 'typing-extensions>=4.12'"),
    ],
)
def test_a_wrong_version_is_an_exit_status_with_advice(
    name: str, found: str, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = metadata.version
    monkeypatch.setattr(metadata, "version", lambda asked: found if asked == name else usual(asked))
    monkeypatch.setattr(doctor, "_plugin", lambda folder: Finding("mypy plugin", "not asked"))
    assert doctor.main([]) == 1
    output = capsys.readouterr().out
    assert line(output, name).startswith(f"! {name}")
    assert f"    {advice}\n" in output


def test_what_is_absent_and_optional_is_not_wrong() -> None:
    absent = Requirement("a-package-that-nobody-has", "1", "2", "saving", "files").finding()
    assert absent.advice == ""
    assert "pip install 'wengert[saving]'" in absent.found


def test_the_requirements_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for required in REQUIREMENTS:
        where = (
            project["optional-dependencies"][required.extra] if required.extra else project["dependencies"]
        )
        bounds = f">={required.least}" + (f",<{required.below}" if required.below else "")
        assert f"{required.name}{bounds}" in where
    assert project["requires-python"] == ">=" + ".".join(map(str, doctor._OLDEST_PYTHON))
    assert any(x.endswith(f">={doctor._OLDEST_CUPY}") for x in project["optional-dependencies"]["gpu"])


@pytest.mark.parametrize(
    ("name", "text", "counts"),
    [
        ("mypy.ini", "", True),
        (".mypy.ini", "", True),
        ("pyproject.toml", ON, True),
        ("pyproject.toml", "[project]\n", False),
        ("setup.cfg", "[mypy]\n", True),
        ("setup.cfg", "[metadata]\n", False),
    ],
)
def test_the_configuration_is_found_from_a_folder_below(
    tmp_path: Path, name: str, text: str, counts: bool
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert configured(below) == (tmp_path / name if counts else None)
    (below / ".git").mkdir()
    assert configured(below) is None, "another repository begins here"


def test_a_configuration_that_cannot_be_read_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.mypy")
    found = doctor._plugin(tmp_path)
    assert found.advice
    assert str(path) in found.found


def test_cupy_is_told_with_its_devices_and_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def devices(count: int) -> SimpleNamespace:
        return SimpleNamespace(
            getDeviceCount=lambda: count,
            getDeviceProperties=lambda i: {"name": f"GPU {i}".encode()},
            driverGetVersion=lambda: 12080,
        )

    def cupy(runtime: object) -> None:
        pool = SimpleNamespace(total_bytes=lambda: 2048)
        made = SimpleNamespace(
            __version__="13.3.0",
            cuda=SimpleNamespace(runtime=runtime),
            get_default_memory_pool=lambda: pool,
        )
        monkeypatch.setattr(dispatch, "_FIND_SPEC", lambda name: made)
        monkeypatch.setattr(dispatch, "import_module", lambda name: made)

    cupy(devices(2))
    assert dispatch.gpus() == ("13.3.0", ("GPU 0", "GPU 1"), "", "12.8", "2,048 bytes")
    assert [*doctor._device()] == [
        Finding("CUDA driver", "for CUDA 12.8 and older"),
        Finding("memory pool", "2,048 bytes"),
    ]
    assert doctor._cupy() == Finding("cupy", "13.3.0 on GPU 0, GPU 1")
    cupy(devices(0))
    assert doctor._cupy() == Finding("cupy", "13.3.0, no device to be used: none is visible")
    cupy(SimpleNamespace(getDeviceCount=_no_driver))
    assert "cudaErrorInsufficientDriver" in doctor._cupy().found
    assert not doctor._cupy().advice
    cupy(SimpleNamespace())
    assert "AttributeError" in doctor._cupy().found
    assert doctor._cupy().advice
    monkeypatch.setattr(dispatch, "_FIND_SPEC", lambda name: None)
    assert dispatch.gpus() is None
    assert not doctor._cupy().advice


def test_nvidias_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "found_nvrtc", lambda: SimpleNamespace(version="12.9", path="libnvrtc.so.12"))
    assert doctor._nvrtc() == Finding("NVRTC", "12.9, libnvrtc.so.12")
    monkeypatch.setattr(doctor, "found_nvrtc", lambda: None)
    assert "gpu-test" in doctor._nvrtc().found


def _no_driver() -> int:
    raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")


@pytest.mark.slow
def test_importing_wengert_imports_no_command() -> None:
    code = (
        "import sys, wengert; print([m for m in sys.modules if m in {'wengert.doctor', 'wengert.profiling'}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
