"""The wheel has all it needs: it runs the main job where no compiler can be found."""

import fcntl
import json
import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from pellucid.playground.site import page_files

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel built from the sources, as `pip wheel .` builds it; compiled files are taken over.

    The lock is for workers that come here at one time.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--quiet"]
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, *build, "--wheel-dir", str(folder)], check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """An environment with the wheel in it; its dependencies are those of this test session."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-warn-script-location"]
    subprocess.run(
        [sys.executable, *pip, "--target", str(packages), "--no-compile", str(wheel)], check=True
    )
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    return folder


def run(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run the environment's Python with an empty PATH: no compiler can be found."""
    nowhere = str(cwd / "nowhere")
    environment = {"PATH": nowhere, "CC": nowhere, "CXX": nowhere, "HOME": str(cwd)}
    environment |= {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS")}
    python = installed / "bin" / "python"
    return subprocess.run(
        [str(python), *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
def test_wheel_holds_kernels_data_and_licences_and_no_sources(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(n.startswith("pellucid/_kernels/_native") and n.endswith(".so") for n in names)
    assert "pellucid/datasets/data/penguins.csv" in names
    assert "pellucid/py.typed" in names
    assert {f"pellucid/playground/static/{name}" for name in page_files()} <= set(names)
    assert {"pellucid/playground/notebook/view.js", "pellucid/playground/offline/offline.js"} <= {
        *names
    }
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert not [n for n in names if n.endswith((".cpp", ".hpp", "CMakeLists.txt"))]


def test_wheel_runs_the_compiled_kernel_without_a_compiler(installed, tmp_path):
    code = "import pellucid; print(pellucid.__file__); from pellucid import _kernels; "
    done = run(installed, tmp_path, "-c", code + "print(_kernels.native_module().__name__)")
    assert done.returncode == 0, done.stderr
    assert str(installed) in done.stdout
    assert "pellucid._kernels._native" in done.stdout


@pytest.mark.slow
def test_wheel_runs_the_main_job_without_a_compiler(installed, tmp_path):
    arguments = ("concentric", "--hidden", "none", "--steps", "300", "--json", "--out", ".")
    done = run(installed, tmp_path, "-m", "pellucid", "diagnose", *arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "capacity failure"
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_expected_numbers_of_the_chapters_are_in_it(installed, tmp_path):
    done = run(installed, tmp_path, "-m", "pellucid", "reproduce", "worked-example", "shapes")
    assert done.returncode == 0, done.stderr
    assert "rows agree" in done.stdout
