"""Settings that every test shares: property tests draw the same examples in every run."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from attacklab.laws import sampling_check
from attacklab.processes import fresh

collect_ignore = ["sample_project"]  # it is a project of its own, which test_pytest_plugin.py runs

settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")

# A shell starts its background jobs so that they and what they start ignore Ctrl-C; tests send it to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# In continuous integration pytest prints its summary whole; tests that run pytest read what a person sees.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)


PRELOADED = ("hypothesis", "pytest", "scipy.special", "attacklab.laws.proof", "experiments.targets")
"""What test modules import, for the process whose forks run their samplers: each fork would import it again."""

fresh.PRELOADED.extend(PRELOADED)

gc.disable()  # until all is collected: what is made by then stays, and looking through it again and again takes time


def pytest_collection_finish() -> None:
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Every proof holds its laws against a few hundred plain runs, not against all 20,000.

    Fixtures of modules are made within the first test that asks for them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling_check, "RUNS", 400)
        return (yield)


PACKAGE = "experiments"
MARKER = f'[tool.attacklab]\nexperiments = "{PACKAGE}"\n'


@pytest.fixture
def own_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A lab with an empty package `experiments`, which hides the project's own one while the test runs."""
    (tmp_path / PACKAGE).mkdir()
    (tmp_path / PACKAGE / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(MARKER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    kept = _taken_out()
    yield tmp_path
    _taken_out()
    sys.modules.update(kept)


def _taken_out() -> dict[str, object]:
    names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}
