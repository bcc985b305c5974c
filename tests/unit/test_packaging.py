"""What `pip install raquo` brings: one name at the top level, two libraries, and nothing else.

The package is built from a copy (source first, then the wheel from it) and installed into an empty environment.
"""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [link.name for link in (ROOT / "raquo").iterdir() if link.is_symlink()]
FILES = ["setup.cfg", "pyproject.toml", "README.md", "LICENSE"]

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that this source tree becomes."""
    copy = tmp_path_factory.mktemp("source")
    for folder in ["raquo", *FOLDERS]:
        shutil.copytree(ROOT / folder, copy / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, copy)
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)])
    return next((copy / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def empty_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds what `pip install raquo` brings."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", str(wheel)], capture_output=True, text=True, check=False
    )
    if done.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"pip could not install it here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return python


def test_a_wheel_holds_the_name_raquo_and_no_other(wheel: Path) -> None:
    top = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"raquo"}


def test_a_wheel_holds_every_module_and_its_types(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    ours = {f"raquo/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert ours <= held
    assert {"raquo/__init__.py", "raquo/py.typed"} <= held


def test_the_base_package_asks_for_two_libraries(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    required = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    assert [line for line in required if "extra ==" not in line] == ["pika<2,>=1.3.2", "tenacity>=8.2"]


def test_an_empty_environment_gets_pika_and_tenacity_only(empty_environment: Path) -> None:
    listed = _run([str(empty_environment), "-m", "pip", "list", "--format=freeze"]).split()
    installed = {line.partition("==")[0].lower() for line in listed}
    assert installed - {"pip", "setuptools", "wheel"} == {"raquo", "pika", "tenacity"}


def test_importing_the_router_imports_nothing_that_is_not_there(empty_environment: Path) -> None:
    code = "import raquo, raquo.router, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(_run([str(empty_environment), "-W", "error", "-c", code]).split())
    foreign = loaded - sys.stdlib_module_names - {"__main__", "__mp_main__"}
    assert {name for name in foreign if not name.startswith(("_", "sitecustomize"))} <= {"raquo", "pika", "tenacity"}


def test_what_needs_an_extra_says_which_line_to_type(empty_environment: Path) -> None:
    code = "from raquo.broker.management import ManagementClient; ManagementClient('http://host')"
    done = subprocess.run([empty_environment, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "raquo[distributor]"' in done.stderr.strip().splitlines()[-1]


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pika_that_was_not_tested_is_refused_by_the_command_line_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import pika\npika.__version__ = '99.0.0'\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "raquo", "version"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("raquo: the mover was tested with pika")
    assert done.stderr.count("\n") == 1
