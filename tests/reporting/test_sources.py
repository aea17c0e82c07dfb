"""The digests of what made a report: they change with code that its experiment reaches, and with nothing else."""

from pathlib import Path

import pytest

from attacklab.reporting.sources import digests

FILES = {
    "experiments/__init__.py": "",
    "experiments/first.py": "from lab.attack import try_it\nfrom . import common\nfrom .common import sweeps\n",
    "experiments/second.py": "import lab.targets\nX = 1\n",
    "experiments/common/__init__.py": "import numpy\n",
    "experiments/common/sweeps.py": "def f():\n    import lab.late\n",
    "lab/__init__.py": "from lab.other import x\n",
    "lab/attack.py": "from lab import targets\ndef try_it(): ...\n",
    "lab/targets.py": '"""Targets."""\nX = 1\n',
    "lab/late.py": "X = 1\n",
    "lab/other.py": "x = 1\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def edited(root: Path, name: str, text: str) -> None:
    before = (root / name).stat().st_mtime_ns
    (root / name).write_text(text)
    assert (root / name).stat().st_mtime_ns != before


REACHED = ("first.py", "common/__init__.py", "common/sweeps.py"), ("attack.py", "targets.py", "late.py")
ROOMS = {
    f"{room}/{name}": {room} for room, names in zip(("experiments", "lab"), REACHED, strict=True) for name in names
}


@pytest.mark.parametrize(("name", "rooms"), [*ROOMS.items(), ("lab/other.py", set()), ("experiments/second.py", set())])
def test_a_digest_changes_with_every_module_reached_and_no_other(name: str, rooms: set[str], root: Path) -> None:
    before = digests(root, "experiments.first")
    assert set(before) == {"experiments", "lab"}
    edited(root, name, FILES[name] + "Y = 2\n")
    after = digests(root, "experiments.first")
    assert {room for room in before if before[room] != after[room]} == rooms


def test_texts_and_layout_do_not_count_and_a_module_that_is_gone_does(root: Path) -> None:
    before = digests(root, "experiments.second")
    edited(root, "lab/targets.py", '"""Other words."""\n\n# Why.\nX = (\n    1\n)\n')
    assert digests(root, "experiments.second") == before
    (root / "lab/targets.py").unlink()
    assert digests(root, "experiments.second") != before
    assert digests(root, "experiments.third") == {}
