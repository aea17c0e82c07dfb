"""What a name may stand for is the same where the target is loaded in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.model.errors import TargetError, UsageError
from attacklab.model.loading import load_target
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Kind
from attacklab.processes.targets import ProcessRelease, isolated
from tests.unit.attacklab.test_loading import CLASS, SOURCE
from tests.unit.attacklab.test_releases import KIND, MECHANISMS, MISFITS

RNG = np.random.default_rng(1)
BOUNDS = (0.0, 1.0)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mechanisms.py"
    path.write_text(MECHANISMS)
    return str(path)


@pytest.mark.parametrize("name", ["mechanism.randomise", "holder.inner.randomise"])
def test_a_method_is_a_target_by_its_name(name: str, file: str) -> None:
    target = isolated(f"{file}:{name}", **KIND)
    assert target.name == name
    assert len(set(target.outputs(0.5, 50, RNG))) == 50


@pytest.mark.parametrize(("name", "message"), MISFITS)
def test_a_name_or_a_method_that_does_not_fit_is_told(name: str, message: str, file: str) -> None:
    with pytest.raises(UsageError, match=message):
        isolated(f"{file}:{name}", **KIND).outputs(0.0, 1, RNG)


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "scales_beside_it.py").write_text("scale = 2.0\n")
    (tmp_path / "importing.py").write_text(
        "import scales_beside_it\ndef noisy(answer, trials, rng):\n    return [scales_beside_it.scale] * trials\n"
    )
    target = isolated(f"{tmp_path / 'importing.py'}:noisy", **KIND)
    assert list(target.outputs(0.0, 2, RNG)) == [2.0, 2.0]


@pytest.mark.parametrize("kind", [None, Kind.NOISE])
def test_a_class_that_is_named_for_an_object_of_it_is_refused_at_once(kind: Kind | None, tmp_path: Path) -> None:
    path = tmp_path / "some_targets.py"
    path.write_text(SOURCE)
    with pytest.raises((UsageError, TargetError), match=CLASS):
        isolated(f"{path}:Laplace", kind=kind, epsilon=1.0)


def described_target(folder: Path) -> str:
    file = folder / "adapter.py"
    file.write_text(
        "def noisy(*, epsilon=1.0, bounds=(0.0, 1.0), relation='substitute'):\n"
        "    return {'kind': 'sum', 'release': release, 'epsilon': epsilon, 'bounds': bounds, 'relation': relation}\n"
        "def release(records, trials, rng):\n    return records.sum() + rng.laplace(0, 1, trials)\n"
    )
    return str(file)


@pytest.mark.parametrize("load", [load_target, isolated])
@pytest.mark.parametrize(
    ("name", "parameters", "relation"),
    [
        ("noisy", {}, Relation.SUBSTITUTE),
        ("noisy", {"relation": "add-remove"}, Relation.ADD_REMOVE),
        ("release", {"kind": Kind.SUM, "epsilon": 1.0, "bounds": BOUNDS}, None),
        (
            "release",
            {"kind": Kind.SUM, "epsilon": 1.0, "bounds": BOUNDS, "relation": "substitute"},
            Relation.SUBSTITUTE,
        ),
    ],
)
def test_the_relation_is_the_same_in_this_process_and_in_another(
    tmp_path: Path, load: Any, name: str, parameters: dict[str, Any], relation: Relation | None
) -> None:
    target = load(f"{described_target(tmp_path)}:{name}", **parameters)
    assert target.relation is relation
    if isinstance(target.release, ProcessRelease):
        target.release.close()


@pytest.mark.parametrize("load", [load_target, isolated])
def test_a_described_relation_that_is_none_is_refused(tmp_path: Path, load: Any) -> None:
    with pytest.raises(ValueError, match=r"relation must be one of .*, not 'twin'"):
        load(f"{described_target(tmp_path)}:noisy", relation="twin")
