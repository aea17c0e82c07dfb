"""Adapters of real libraries and their environments; where an environment is built, its mechanisms are run."""

import re
import secrets
import sys
from pathlib import Path

import gmpy2
import numpy as np
import pytest

from attacklab import Kind, PrivacyClaim, libraries
from attacklab.libraries.diffprivlib_adapter import _drawing_from
from attacklab.libraries.opacus_adapter import _noise_multiplier
from attacklab.loading.environments import Environment, environments, interpreter
from attacklab.loading.targets import load_target
from attacklab.model.errors import UsageError
from attacklab.processes.targets import ProcessRelease, isolated

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
INPUTS = {Kind.NOISE: 1.0, Kind.SELECTION: np.array([0.0, 1.0]), Kind.DATASET: np.array([1.0, 0.0])}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", libraries.NAMES)
def test_an_adapter_imports_only_numpy_and_the_standard_library_before_it_is_called(name: str) -> None:
    source = Path(str(libraries.adapter_file(name))).read_text(encoding="utf-8")
    assert set(re.findall(r"(?m)^(?:import|from) (\w+)", source)) <= set(sys.stdlib_module_names) | {"numpy"}
    described = libraries.library(name)
    assert set(described.versions) <= set(described.mechanisms)
    assert libraries.library_of(f"{name}:anything") == described


def test_a_version_has_the_mechanisms_that_are_not_of_others() -> None:
    smartnoise = libraries.library("smartnoise")
    assert smartnoise.mechanisms_of("1.0.2") == ["laplace", "laplace_discrete", "gaussian_discrete"]
    assert smartnoise.mechanisms_of("1.0.10") == ["laplace", "gaussian"]


def test_a_mechanism_of_an_installed_library_is_loaded_here_with_its_version() -> None:
    target = load_target("numpy:gaussian", epsilon=0.5, delta=1e-6)
    assert (target.name, target.version, target.kind) == ("numpy:gaussian", f"numpy {np.__version__}", Kind.NOISE)
    assert target.claim == PrivacyClaim(0.5, 1e-6)
    # √(2·ln(1.25/δ))/ε = 10.597; the standard error of a sample's deviation is 0.5 %.
    assert np.std(target.outputs(0.0, 20_000, rng())) == pytest.approx(10.597, rel=0.03)


def _built() -> list[tuple[Environment, str]]:
    built = [environment for environment in environments(ROOT) if not environment.is_missing]
    return [(made, libraries.library(made.library).mechanisms_of(made.version)[0]) for made in built]


@pytest.mark.parametrize(("made", "name"), _built(), ids=lambda value: getattr(value, "name", value))
def test_a_mechanism_of_a_built_environment_draws_and_replays_if_it_can_be_seeded(made: Environment, name: str) -> None:
    target = isolated(f"{made.library}:{name}", python=str(made.python), epsilon=1.0)
    assert isinstance(target.release, ProcessRelease)
    input_ = INPUTS.get(target.kind, np.array([0.25, 0.75]))
    first, second, other = (target.outputs(input_, 500, rng(seed)) for seed in (1, 1, 2))
    target.release.close()
    assert len(np.unique(first, axis=0)) > 1
    assert not np.array_equal(first, other)
    assert np.array_equal(first, second) == (not libraries.library(made.library).unseeded)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-12), (1.0, 1e-5), (30.0, 0.1)])
def test_opacus_is_given_the_least_noise_multiplier_that_the_claim_allows(epsilon: float, delta: float) -> None:
    """In 200 bits: δ(ε) = Φ(1/2σ − εσ) − e^ε·Φ(−1/2σ − εσ) of the Gaussian mechanism."""

    def delta_of(sigma: float) -> gmpy2.mpfr:
        shift, half, root = gmpy2.mpfr(epsilon) * sigma, 1 / (2 * gmpy2.mpfr(sigma)), gmpy2.sqrt(2)
        return (gmpy2.erfc((shift - half) / root) - gmpy2.exp(epsilon) * gmpy2.erfc((shift + half) / root)) / 2

    found = _noise_multiplier(epsilon, delta)
    with gmpy2.context(precision=200):
        assert delta_of(found) <= delta
        assert delta_of(float(np.float32(found))) <= delta
        assert delta_of(found * (1 - 2.0**-18)) > delta


def test_what_the_system_and_numpy_give_diffprivlib_comes_from_the_generator_alone() -> None:
    def drawn(seed: int) -> list[float]:
        with _drawing_from(rng(seed)):
            return [secrets.SystemRandom().random(), secrets.randbits(62), np.random.random_sample()]

    state = str(np.random.get_state(legacy=False))
    assert drawn(1) == drawn(1)
    assert not set(drawn(1)) & set(drawn(2))
    assert str(np.random.get_state(legacy=False)) == state


def test_an_environment_is_pinned_by_a_file_and_built_when_it_is_marked_ready(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    for name in ("fast-noise-1.2", "opendp-0.4.0", "opendp-0.16.0"):
        (tmp_path / "environments" / f"{name}.txt").write_text("numpy\n")
    built = tmp_path / ".environments" / "opendp-0.16.0"
    built.mkdir(parents=True)
    (built / ".ready").touch()
    listed = environments(tmp_path)  # in the order of their versions
    names = ["fast-noise 1.2", "opendp 0.4.0", "opendp 0.16.0"]
    assert [f"{made.library} {made.version}" for made in listed] == names
    assert [made.is_missing for made in listed] == [True, True, False]
    assert interpreter("opendp-0.16.0", tmp_path) == str(built / "bin" / "python")
    assert interpreter(sys.executable, tmp_path) == sys.executable
    for name, message in (
        ("fast-noise-1.2", "build it: make .environments/fast-noise-1.2/.ready"),
        ("python3", "environments: fast-noise-1.2, opendp-0.4.0, opendp-0.16.0"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            interpreter(name, tmp_path)


def test_every_pinned_environment_of_this_checkout_is_of_a_known_library_and_pins_its_version() -> None:
    for environment in environments(ROOT):
        pinned = (ROOT / "environments" / f"{environment.name}.txt").read_text().splitlines()
        assert f"{libraries.library(environment.library).distribution}=={environment.version}" in pinned
        assert all(line.count("==") == 1 for line in pinned)
