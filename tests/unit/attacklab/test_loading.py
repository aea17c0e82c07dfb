"""Loading targets by name: what the name may stand for, and one line for each way in which it may be wrong."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.loading import claim_of, load_function, load_target
from attacklab.model.random_bits import TapedBits
from attacklab.model.targets import Kind, Target

SOURCE = '''
from __future__ import annotations

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

def failing(epsilon: float = 1.0) -> Target:
    raise KeyError("two\\nlines")

def nothing():
    return 3

def _hidden():
    return None

class Laplace:
    def __init__(self, epsilon, delta=0.0, sensitivity=1.0):
        self.scale = sensitivity / epsilon

target = Target.noise(noisy, epsilon=0.5)
number = 3
'''


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "some_targets.py"
    path.write_text(SOURCE)
    return str(path)


@pytest.fixture(autouse=True)
def clean_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("some_targets", "broken", "leaving", "versioned"):
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


def test_modules_are_found_in_the_current_folder(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(place).parent)
    assert load_target("some_targets:target").claim == PrivacyClaim(0.5)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "must be written path/file.py:name or package.module:name or library:mechanism"),
        ("nowhere", "must be written path/file.py:name or package.module:name or library:mechanism"),
        (":target", "must be written"),
        ("{place}:", "must be written"),
        ("/no/such/file.py:target", "there is no file /no/such/file.py"),
        ("no_such_module:target", "module no_such_module cannot be imported: ModuleNotFoundError"),
        ("..:target", "module .. cannot be imported"),
        ("{place}:targt", "has no 'targt'; did you mean 'target'?"),
        ("{place}:zzz", "has no 'zzz'; targets in it: failing, made, noisy, nothing, target"),
        ("{place}:number", "is an int, neither a Target nor a function"),
        ("{place}:noisy", "looks like a release function; add --kind and --epsilon, or name a Target"),
        ("{place}:nothing", r"looks like a release function; add --kind and --epsilon, .* \(it returned an int\)"),
        ("{place}:failing", "raised KeyError: 'two"),
    ],
)
def test_a_name_that_is_not_a_target_is_told_in_one_line(spec: str, message: str, place: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        load_target(spec.replace("{place}", place))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("broken", "def f(:\n", "cannot be loaded: SyntaxError"),
        ("broken", "raise RuntimeError('no')\n", "cannot be loaded: RuntimeError: no"),
        ("leaving", "import sys\nsys.exit(0)\n", "cannot be loaded: SystemExit: 0"),
        (
            "silent",
            "class Silent(Exception):\n    def __str__(self): return 3\nraise Silent\n",
            "cannot be loaded: Silent:",
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


def test_a_module_that_fails_to_look_a_name_up_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "looking.py"
    path.write_text("def __getattr__(name):\n    raise RuntimeError(f'no\\n{name}')\n")
    for load in (load_target, load_function):
        with pytest.raises(
            UsageError, match=r"looking.py:target cannot be looked up: it raised RuntimeError: no target$"
        ):
            load(f"{path}:target")


def test_parameters_that_do_not_fit_are_named(place: str) -> None:
    with pytest.raises(ValueError, match=r"needs a claim; add --epsilon, --rho, --mu or --rdp$"):
        load_target(f"{place}:noisy", kind=Kind.NOISE)
    with pytest.raises(ValueError, match="a target with a claim of its own; leave the parameters out"):
        load_target(f"{place}:target", epsilon=1.0)
    with pytest.raises(ValueError, match=r"^a mean target needs bounds$"):
        load_target(f"{place}:noisy", kind=Kind.MEAN, epsilon=1.0)
    with pytest.raises(ValueError, match=r"^a noise target takes no bounds$"):
        load_target(f"{place}:noisy", kind=Kind.NOISE, epsilon=1.0, bounds=(0, 1))
    with pytest.raises(ValueError, match=r"^epsilon must be finite and at least 0, not nan$"):
        load_target(f"{place}:made", epsilon=float("nan"))
    with pytest.raises(ValueError, match="a target with a claim of its own; leave the kind and the parameters out"):
        load_target(f"{place}:target", kind=Kind.NOISE, epsilon=1.0)
    with pytest.raises(TypeError, match=r"number is an int, not a function; name a sampler or a release function$"):
        load_target(f"{place}:number", kind=Kind.NOISE, epsilon=1.0)


CLASS = r"Laplace is a class, and .* make the object first, mechanism = Laplace\(\.\.\.\), and name that"


@pytest.mark.parametrize("kind", [None, Kind.NOISE])
def test_a_class_that_is_named_for_an_object_of_it_is_refused_at_once(place: str, kind: Kind | None) -> None:
    with pytest.raises(UsageError, match=CLASS):
        load_target(f"{place}:Laplace", kind=kind, epsilon=1.0)


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


def test_a_profile_is_given_to_a_release_and_asked_of_no_function(place: str) -> None:
    curve = Profile([(0.0, 0.25)], "a table")
    assert load_target(f"{place}:noisy", kind=Kind.NOISE, claim=curve).claim == curve
    with pytest.raises(ValueError, match="cannot be asked for a table; give it a kind, or make the target"):
        load_target(f"{place}:made", claim=curve)
    with pytest.raises(ValueError, match="a target with a claim of its own; leave the parameters out"):
        load_target(f"{place}:target", claim=curve)


@pytest.mark.parametrize("rdp", [2.0, (2.0, 1.0), [], {}, [(2.0, 1.0, 0.5)], [2.0], None])
def test_rdp_is_orders_with_their_bounds(rdp: Any) -> None:
    with pytest.raises(UsageTypeError, match=r"^rdp must be \{alpha: epsilon\} or pairs \(alpha, epsilon\), not "):
        claim_of("rdp", rdp)
    assert claim_of("rdp", {3: 1.0}) == claim_of("rdp", [(3, 1.0)]) == Renyi(3, 1.0)


def test_a_file_that_names_a_distribution_which_is_not_installed_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "adapter.py"
    file.write_text(f"{SOURCE}DISTRIBUTION = 'no-such-distribution'\n")
    with pytest.raises(
        ValueError, match=f"^no-such-distribution is not installed in {re.escape(sys.prefix)}; install it$"
    ):
        load_target(f"{file}:made")
