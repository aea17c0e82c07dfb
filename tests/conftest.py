"""Settings that every test shares: property tests draw the same examples in every run."""

import functools
import gc
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# A shell starts its background jobs so that they and what they start ignore Ctrl-C; tests send it to what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# In continuous integration pytest prints its summary whole; tests that run pytest read what a person sees.
for _name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_name, None)

PRELOADED = ("hypothesis", "pytest", "scipy.special", "attacklab.laws.proof", "experiments.targets")
"""What test modules import, for the process whose forks run their samplers: each fork would import it again."""

LONGEST = [f"test_{name}.py" for name in ("exactdp", "plugin", "lines", "reports", "align", "stages", "attacks")]
"""The files that take longest: they run first, so that no worker waits at the end for one of them."""

gc.disable()  # until all is collected: what is made by then stays, and looking through it again and again takes time


@functools.cache
def _repeat_examples() -> None:
    from hypothesis import settings  # which takes half a second: a file without property tests does not wait for it

    settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
    settings.load_profile("repeatable")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which no test is wanted is not imported."""
    if not re.fullmatch(r"test_\w+\.py", collection_path.name):
        return None
    text = collection_path.read_text("utf-8")
    if "hypothesis" in text:
        _repeat_examples()
    is_slow = bool(re.search(r"(?m)^pytestmark = \[?\s*pytest\.mark\.slow", text))
    wanted = config.option.markexpr
    return (wanted == "not slow" and is_slow) or (wanted == "slow" and "mark.slow" not in text) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    if fresh := sys.modules.get("attacklab.processes.fresh"):
        fresh.PRELOADED.extend(PRELOADED)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Every proof holds its laws against a few hundred plain runs, not against all 20,000.

    Fixtures of modules are made within the first test that asks for them.
    """
    from attacklab.laws import sampling_check  # here, so that collecting does not wait for it; a test may need it late

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
