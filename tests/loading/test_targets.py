"""Loading targets by name: what the name may stand for, and one line for each way in which it may be wrong."""

import hashlib
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab import GaussianDP, Kind, PrivacyClaim, Renyi, TapedBits, Target, ZeroConcentrated
from attacklab.loading.targets import claim_of, load_target
from attacklab.model.claims import Claim

SOURCE = '''
import numpy as np
from attacklab.model.targets import Target

def noisy(answer, trials, rng):
    """Adds noise."""
    return answer + rng.laplace(0.0, 2.0, trials)

def made(epsilon: float = 0.25, sensitivity: float = 1.0) -> Target:
    """A target of one ε.

    More of it.
    """
    return Target.noise(noisy, epsilon=epsilon, sensitivity=sensitivity)

target = Target.noise(noisy, epsilon=0.5)
'''


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "some_targets.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.fixture(autouse=True)
def clean_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("some_targets", "antigravity", "broken", "leaving", "versioned"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_name_may_be_a_target_a_maker_of_one_or_a_release_function(place: str) -> None:
    target = load_target(f"{place}:target")
    assert isinstance(target, Target)
    assert (target.claim, target.name) == (PrivacyClaim(0.5), "noisy")
    assert load_target(f"{place}:made").claim == PrivacyClaim(0.25)
    made = load_target(f"{place}:made", epsilon=2.0, sensitivity=3.0)
    assert (made.claim, made.sensitivity) == (PrivacyClaim(2.0), 3.0)
    released = load_target(f"{place}:noisy", kind=Kind.MEAN, epsilon=1.0, delta=0.1, bounds=(0.0, 1.0))
    assert (released.kind, released.claim, released.bounds) == (Kind.MEAN, PrivacyClaim(1.0, 0.1), (0.0, 1.0))
    assert released.name == "noisy"


def test_a_sampler_becomes_a_target_that_can_be_audited_and_proved(tmp_path: Path) -> None:
    place = tmp_path / "samplers.py"
    place.write_text("def coin(answer, bits, sides=2):\n    return int(answer) * sides + int(bits.take(1))\n")
    loaded = load_target(f"{place}:coin", kind=Kind.NOISE, epsilon=1.0)
    assert (loaded.name, loaded.claim) == ("coin", PrivacyClaim(1.0))
    assert loaded.sampler is not None
    assert loaded.sampler(1, TapedBits(1, 1)) == 3
    outputs = loaded.outputs(3, 200, np.random.default_rng(0))
    assert set(outputs) == {6, 7}
    assert list(outputs) == list(loaded.outputs(3, 200, np.random.default_rng(0)))


def test_version_is_the_digest_of_the_file_or_what_the_module_declares(place: str, tmp_path: Path) -> None:
    digest = hashlib.sha256(SOURCE.encode()).hexdigest()
    assert load_target(f"{place}:target").version == f"sha256:{digest[:16]}"
    declaring = tmp_path / "versioned.py"
    declaring.write_text(SOURCE + "__version__ = '7.1'\n")
    assert load_target(f"{declaring}:target").version == "7.1"


def test_modules_are_found_first_in_the_current_folder_which_hides_no_module_afterwards(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(place).rename(tmp_path / "antigravity.py").parent)
    (tmp_path / "this.py").touch()
    assert load_target("antigravity:target").claim == PrivacyClaim(0.5)
    found = PathFinder.find_spec("this")
    assert found is not None
    assert found.origin != str(tmp_path / "this.py")


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("broken", "def f(:\n", "cannot be loaded: SyntaxError"),
        ("broken", "raise RuntimeError('no')\n", "cannot be loaded: RuntimeError: no"),
        ("leaving", "import sys\nsys.exit(0)\n", "cannot be loaded: SystemExit: 0"),
        (
            "silent",
            "class Silent(Exception):\n    def __str__(self): return 3\nraise Silent\n",
            "cannot be loaded: Silent$|cannot be loaded: Silent;",
        ),
    ],
)
def test_a_file_that_fails_is_told_in_one_line_and_leaves_no_half_module(
    name: str, source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"{name}.py"
    path.write_text(source)
    with pytest.raises(ValueError, match=message) as raised:
        load_target(f"{path}:target")
    assert "\n" not in str(raised.value)
    assert name not in sys.modules
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"module {name} cannot be imported"):
        load_target(f"{name}:target")


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "scales_beside_it.py").write_text("scale = 2.0\n")
    (tmp_path / "importing.py").write_text(
        "import scales_beside_it\ndef noisy(answer, trials, rng):\n    return [scales_beside_it.scale] * trials\n"
    )
    target = load_target(f"{tmp_path / 'importing.py'}:noisy", kind=Kind.NOISE, epsilon=1.0)
    assert list(target.outputs(0.0, 2, np.random.default_rng(0))) == [2.0, 2.0]
    monkeypatch.delitem(sys.modules, "scales_beside_it")


CLAIMS: list[tuple[Claim, dict[str, Any]]] = [
    (PrivacyClaim(0.5), {"epsilon": 0.5}),
    (PrivacyClaim(0.5, 1e-9), {"epsilon": 0.5, "delta": 1e-9}),
    (ZeroConcentrated(0.5), {"rho": 0.5}),
    (GaussianDP(2.0), {"mu": 2.0}),
    (Renyi(2.0, 0.5), {"rdp": ((2.0, 0.5),)}),
    (Renyi((2.0, 8.0), (0.5, 3.0)), {"rdp": ((2.0, 0.5), (8.0, 3.0))}),
]


@pytest.mark.parametrize(("claim", "parameters"), CLAIMS)
def test_a_function_that_makes_a_target_is_asked_for_a_claim_by_plain_numbers(
    claim: Claim, parameters: dict[str, Any], tmp_path: Path
) -> None:
    maker = tmp_path / "some_targets.py"
    maker.write_text(
        "def made(**said):\n"
        "    release = lambda answer, trials, rng: rng.random(trials)\n"
        "    return {'kind': 'noise', 'release': release, 'epsilon': 1.0, 'name': repr(said)}\n"
    )
    assert load_target(f"{maker}:made", claim=claim).name == repr(parameters)
    others = {name: value for name, value in parameters.items() if name not in ("epsilon", "delta")}
    assert all(claim_of(name, value) == claim for name, value in others.items())
