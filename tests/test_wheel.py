"""The wheel on every Python that it names: installed in a fresh environment, far from the checkout, and used there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_packaging import PROJECT, PYTHONS, ROOT, _copied

LEAKY = """
from attacklab import Target

def release(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

target = Target.noise(release, epsilon=1.0)
"""
SOUND = """
from attacklab import Domain, Target

def release(answer, trials, rng):
    return int(answer) + rng.geometric(0.7, trials) - rng.geometric(0.7, trials)

target = Target.noise(release, epsilon=2.0, domain=Domain(integers=True))
"""
NEEDED = ("hatchling>=1.27", "pytest>=8.3", "hypothesis>=6.100", "ml_dtypes>=0.5", "mpmath>=1.3")
"""What the build and the chosen tests need beside the package's own dependencies."""

CHOSEN = ("vectors", "claims", "statistics", "test_findings.py", "test_floats.py", "test_targets.py", "test_files.py")
"""Of the default tests of the package, those that run here."""


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or among those that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *map(str, sorted(kept.glob(f"{version}.*/bin/python")))]
    return next((one for one in candidates if one and run([one, "-c", "import venv"], ROOT).returncode == 0), None)


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own code


@pytest.fixture(scope="module", params=PYTHONS)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment with the wheel."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp(f"python{request.param}")
    assert run([python, "-m", "venv", "made"], folder).returncode == 0
    scripts = folder / "made" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [str(scripts / "python"), "-m", "pip"]
    fetched = run([*pip, "install", "-q", *NEEDED, *PROJECT["project"]["dependencies"]], folder)
    if fetched.returncode:
        pytest.skip(f"the dependencies cannot be had for Python {request.param}")
    tree = _copied(folder / "tree", reverse=False)
    done = run([*pip, "install", "-q", "--no-deps", "--no-build-isolation", str(tree)], folder)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tree)
    checked = run([*pip, "check"], folder)
    assert checked.returncode == 0, checked.stdout
    return scripts


@pytest.mark.slow
def test_the_commands_run(installed: Path, tmp_path: Path) -> None:
    script, python = str(installed / "attacklab"), str(installed / "python")
    version = run([script, "--version"], tmp_path)
    assert (version.returncode, version.stdout) == (0, f"attacklab {PROJECT['project']['version']}\n")
    listed = run([python, "-W", "error", "-m", "attacklab", "list"], tmp_path)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "low_bit_laplace" in listed.stdout


@pytest.mark.slow
def test_an_audit_refutes_a_leaky_file_and_not_a_sound_one(installed: Path, tmp_path: Path) -> None:
    """An alarm on the sound one has a probability of at most 1e-9; the seed is fixed."""
    for name, content, status in (("leaky.py", LEAKY, 1), ("sound.py", SOUND, 0)):
        (tmp_path / name).write_text(content, encoding="utf-8")
        words = ["audit", f"{name}:target", "--trials", "3000", "--alpha", "1e-9"]
        done = run([str(installed / "attacklab"), *words], tmp_path)
        assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.slow
def test_vectors_are_checked(installed: Path) -> None:
    python = installed / "python"
    for name, status in (("exact", 0), ("naive", 1)):
        program = f"{python} examples/vectors/program.py {name}"
        done = run([str(installed / "attacklab"), "vectors", "check", "vectors/trace.json", "--exec", program], ROOT)
        assert done.returncode == status, done.stdout + done.stderr


@pytest.mark.slow
def test_default_tests_pass_without_the_checkout(installed: Path, tmp_path: Path) -> None:
    """The tests see the installed package alone: the tree beside them holds no source of it."""
    for name in ("tests", "vectors", "examples", "mechanisms", "experiments"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    options = ["-q", "-o", "addopts=", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    chosen = [f"tests/attacklab/{name}" for name in CHOSEN]
    done = run([str(installed / "python"), "-m", "pytest", *options, *chosen], tmp_path)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert " passed" in done.stdout
