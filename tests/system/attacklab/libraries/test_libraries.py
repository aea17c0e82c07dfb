"""Adapters of real libraries, against tiny fakes of them; the experiment on libraries runs the real ones."""

from __future__ import annotations

import ast
import json
import math
import random
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest

from attacklab import libraries
from attacklab.auditing.attacks import SumSensitivity
from attacklab.auditing.referee import audit
from attacklab.libraries.diffprivlib_adapter import _drawing_from
from attacklab.libraries.opacus_adapter import _noise_multiplier
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Renyi, ZeroConcentrated, claim_from_json
from attacklab.model.errors import TargetError
from attacklab.model.findings import Verdict
from attacklab.model.floats import format_of
from attacklab.model.loading import load_target
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import ProcessRelease, isolated

DTYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16, "bfloat16": np.float32}
NARROW_BOUNDS = (1.0, 1.0 + 2.0**-48)

FAKES = {
    "diffprivlib/__init__.py": "",
    "diffprivlib/mechanisms.py": """
import secrets
class Laplace:
    def __init__(self, *, epsilon, sensitivity):
        self.system = secrets.SystemRandom()
    def randomise(self, value):
        return value + self.system.random()
class Geometric(Laplace):
    def randomise(self, value):
        assert isinstance(value, int)
        return value + self.system.getrandbits(3)
class Exponential:
    def __init__(self, *, epsilon, sensitivity, utility):
        self.best = utility.index(max(utility))
    def randomise(self):
        return self.best
""",
    "diffprivlib/tools.py": """
import numpy
def sum(records, *, epsilon, bounds):
    return records.sum() + numpy.random.random_sample() * (bounds[1] - bounds[0]) / epsilon
""",
    "diffprivlib-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: diffprivlib\nVersion: 9.9\n",
    "opendp/__init__.py": "",
    "opendp/prelude.py": """
from types import SimpleNamespace
def enable_features(name): assert name == "contrib"
def atom_domain(T, nan=None): return T
def vector_domain(domain): return domain
def l1_distance(T): return T
def l2_distance(T): return T
def linf_distance(T): return T
def max_divergence(): return "pure"
def zero_concentrated_divergence(): return "zCDP"
def binary_search_param(make, d_in, d_out):
    if isinstance(make(1.0), Gaussian):
        return (d_in * d_in / (2 * d_out)) ** 0.5
    return d_in / d_out
class Gaussian:
    def __init__(self, domain, metric, scale): self.scale = scale
    def __call__(self, values): return [value + self.scale for value in values]
    def map(self, d_in): return d_in * d_in / (2 * self.scale * self.scale)
class NoisyMax:
    def __init__(self, domain, metric, measure, scale): self.measure, self.scale = measure, scale
    def __call__(self, scores): return scores.index(max(scores))
    def map(self, d_in): return d_in / self.scale
class Laplace:
    def __init__(self, domain, metric, scale): self.scale = scale
    def __call__(self, values): return [value + type(value)(self.scale) for value in values]
    def map(self, d_in): return d_in / self.scale
m = SimpleNamespace(make_laplace=Laplace, make_gaussian=Gaussian, make_noisy_max=NoisyMax)
""",
    "opendp-9.8.dist-info/METADATA": "Metadata-Version: 2.1\nName: opendp\nVersion: 9.8\n",
    "pydp/__init__.py": "",
    "pydp/algorithms/__init__.py": "",
    "pydp/algorithms/numerical_mechanisms.py": """
class LaplaceMechanism:
    def __init__(self, epsilon, sensitivity): pass
    def add_noise(self, value): return type(value)(value + 1)
""",
    "pydp/algorithms/laplacian.py": """
class BoundedSum:
    def __init__(self, *, epsilon, lower_bound, upper_bound, dtype): self.bounds = lower_bound, upper_bound
    def quick_result(self, values): return sum(min(max(value, self.bounds[0]), self.bounds[1]) for value in values)
""",
    "python_dp-9.7.dist-info/METADATA": "Metadata-Version: 2.1\nName: python-dp\nVersion: 9.7\n",
    "tmlt/core/domains/numpy_domains.py": "class NumpyFloatDomain: pass",
    "tmlt/core/utils/exact_number.py": """
from fractions import Fraction
class ExactNumber(Fraction):
    @staticmethod
    def from_float(value, round_up): return ExactNumber(value)
    def to_float(self, round_up):
        assert round_up
        return float(self)
""",
    "tmlt/core/measurements/noise_mechanisms.py": """
class AddLaplaceNoise:
    def __init__(self, domain, scale): self.scale = scale
    def __call__(self, value):
        assert isinstance(value, float)
        return float(value + self.scale)
class AddGaussianNoise(AddLaplaceNoise):
    def privacy_function(self, moved):
        return type(self.scale)(moved * moved / (2 * self.scale))
class AddGeometricNoise:
    def __init__(self, scale): self.scale = scale
    def __call__(self, value):
        assert isinstance(value, int)
        return value + int(self.scale)
class AddDiscreteGaussianNoise(AddGeometricNoise):
    privacy_function = AddGaussianNoise.privacy_function
""",
    "tmlt.core-9.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: tmlt.core\nVersion: 9.2\n",
    "snsql/__init__.py": "",
    "snsql/sql/__init__.py": "",
    "snsql/sql/_mechanisms.py": """
class Laplace:
    def __init__(self, epsilon, *, delta, sensitivity): self.scale = sensitivity / epsilon + delta
    def release(self, values): return [float(value) + self.scale for value in values]
class Gaussian(Laplace): pass
""",
    "smartnoise_sql-9.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: smartnoise-sql\nVersion: 9.1\n",
    "torch/__init__.py": """
from types import SimpleNamespace
import numpy as np
float64, float32, float16, bfloat16 = "float64", "float32", "float16", "bfloat16"
class Tensor:
    def __init__(self, values, dtype=float64):
        self.dtype, self.values = dtype, np.asarray(values).astype("float32" if dtype == bfloat16 else dtype)
        if dtype == bfloat16:
            self.values = (self.values.view("u4") & np.uint32(0xFFFF0000)).view("f4")
    def __add__(self, other): return Tensor(self.values + other.values, self.dtype)
    def __getitem__(self, place): return self.values[place]
    def __len__(self): return len(self.values)
    def to(self, dtype): return Tensor(self.values, dtype)
    def item(self): return self.values.item()
    def float(self): return Tensor(self.values, float32)
    def numpy(self):
        assert self.dtype != bfloat16
        return self.values
tensor = Tensor
zeros = lambda count: Tensor(np.zeros(count), float32)
full = lambda shape, value, dtype: Tensor(np.full(shape, float(value)), dtype)
class Generator:
    def manual_seed(self, seed):
        self.random = np.random.RandomState(seed % 1000)
        return self
everywhere = Generator()
manual_seed = everywhere.manual_seed
def normal(mean, std, size, *, generator, dtype): return Tensor(generator.random.normal(mean, std, size), dtype)
def softmax(exponents, axis):
    weights = np.exp(exponents.values)
    return Tensor(weights / weights.sum(), exponents.dtype)
def multinomial(shares, trials, *, replacement, generator):
    assert replacement
    law = shares.values.astype(float)
    return Tensor(generator.random.choice(len(law), trials, p=law / law.sum()), "int64")
def stack(tensors, axis): return Tensor(np.stack([each.values for each in tensors], axis), tensors[0].dtype)
class Laplace:
    def __init__(self, loc, scale): self.loc, self.scale = loc, scale
    def sample(self, shape):
        return self.loc + Tensor(everywhere.random.laplace(0, self.scale.values, shape), self.loc.dtype)
distributions = SimpleNamespace(Laplace=Laplace)
nn = SimpleNamespace(Parameter=lambda tensor: tensor)
optim = SimpleNamespace(SGD=lambda parameters, lr: parameters)
""",
    "torch-9.6.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.6\n",
    "opacus/__init__.py": "",
    "opacus/optimizers.py": """
from torch import normal
class DPOptimizer:
    def __init__(self, parameters, *, noise_multiplier, max_grad_norm, expected_batch_size, loss_reduction, generator,
                 secure_mode):
        self.scale = noise_multiplier * max_grad_norm * (2 if secure_mode else 1)
        self.parameters, self.generator = parameters, generator
        assert loss_reduction == "sum"
    def add_noise(self):
        for each in self.parameters:
            noise = normal(0, self.scale, each.values.shape, generator=self.generator, dtype=each.dtype)
            each.grad = each.summed_grad + noise
""",
    "opacus/accountants/__init__.py": "class RDPAccountant: DEFAULT_ALPHAS = [1.5, 2, 8]",
    "opacus/accountants/analysis/rdp.py": """
def compute_rdp(*, q, noise_multiplier, steps, orders):
    assert (q, steps) == (1.0, 1)
    return [order / (2 * noise_multiplier**2) for order in orders]
""",
    "opacus-9.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: opacus\nVersion: 9.5\n",
    "jax/__init__.py": """
from types import SimpleNamespace
import numpy
config = SimpleNamespace(update=lambda name, value: None)
drawn = lambda name: lambda key, shape, dtype: getattr(numpy.random.RandomState(key), name)(size=shape).astype(dtype)
random = SimpleNamespace(wrap_key_data=lambda data: data, normal=drawn("normal"), laplace=drawn("laplace"))
""",
    "jax-9.4.dist-info/METADATA": "Metadata-Version: 2.1\nName: jax\nVersion: 9.4\n",
    "jax_privacy/__init__.py": "",
    "jax_privacy/noise_addition.py": """
from types import SimpleNamespace
import jax
def gaussian_privatizer(*, stddev, prng_key):
    def update(gradient, state):
        return gradient + stddev * jax.random.normal(prng_key, gradient.shape, gradient.dtype), state
    return SimpleNamespace(init=lambda model: None, update=update)
""",
    "dp_accounting/__init__.py": """
class GaussianDpEvent:
    def __init__(self, noise_multiplier): self.noise_multiplier = noise_multiplier
""",
    "jax_privacy-9.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: jax-privacy\nVersion: 9.3\n",
}

Loaded = Callable[..., Target]


@pytest.fixture
def loaded() -> Iterator[Loaded]:
    """Loads targets in child interpreters, and ends those after the test."""
    targets: list[Target] = []

    def load(spec: str, **parameters: Any) -> Target:
        targets.append(isolated(spec, **parameters))
        return targets[-1]

    yield load
    for target in targets:
        assert isinstance(target.release, ProcessRelease)
        target.release.close()


@pytest.fixture
def faked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: Loaded) -> Loaded:
    """Loads targets of the fakes, which child interpreters find before the real libraries."""
    for name, text in FAKES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return loaded


DESCRIBE = """
import json, runpy, sys
description = runpy.run_path(sys.argv[1])[sys.argv[2]](epsilon=float(sys.argv[3]))
print(json.dumps({key: value for key, value in description.items() if key != "release"}))
"""


def described(spec: str, epsilon: float) -> dict[str, Any]:
    """What an adapter says of a mechanism, in a child interpreter, but for its release."""
    place, _, mechanism = spec.partition(":")
    words = [sys.executable, "-c", DESCRIBE, str(libraries.adapter_file(place)), mechanism, str(epsilon)]
    ran = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603 - the words are ours
    description = json.loads(ran.stdout)
    assert isinstance(description, dict)
    return description


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", libraries.NAMES)
def test_an_adapter_imports_only_numpy_and_the_standard_library_before_it_is_called(name: str) -> None:
    file = libraries.adapter_file(name)
    assert file is not None
    imported = set()
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).partition(".")[0])
    assert imported <= set(sys.stdlib_module_names) | {"numpy"}


@pytest.mark.parametrize("name", libraries.NAMES)
def test_a_library_is_described_whether_or_not_it_is_installed(name: str) -> None:
    described = libraries.library(name)
    assert described.name == name
    assert described.mechanisms
    assert all(summary.endswith(".") for summary in described.mechanisms.values())
    assert set(described.versions) <= set(described.mechanisms)
    assert libraries.library_of(f"{name}:anything") == described


def test_a_version_has_the_mechanisms_that_are_not_of_others() -> None:
    smartnoise = libraries.library("smartnoise")
    assert smartnoise.mechanisms_of("1.0.2") == ["laplace", "laplace_discrete", "gaussian_discrete"]
    assert smartnoise.mechanisms_of("1.0.10") == ["laplace", "gaussian"]
    assert libraries.library("numpy").mechanisms_of("2.0") == list(libraries.library("numpy").mechanisms)


def test_only_the_names_of_libraries_are_libraries() -> None:
    with pytest.raises(ValueError, match="no library 'nothing'; there are numpy, scipy"):
        libraries.library("nothing")
    assert libraries.library_of("nothing:laplace") is None
    assert libraries.library_of("opendp") is None
    assert libraries.library("numpy").installed == np.__version__


def test_a_mechanism_of_an_installed_library_is_loaded_here_with_its_version() -> None:
    target = load_target("numpy:gaussian", epsilon=0.5, delta=1e-6)
    assert (target.name, target.version, target.kind) == ("numpy:gaussian", f"numpy {np.__version__}", Kind.NOISE)
    assert target.claim == PrivacyClaim(0.5, 1e-6)
    outputs = target.outputs(0.0, 20_000, rng())
    # √(2·ln(1.25/δ))/ε = 10.597; the standard error of a sample's deviation is 0.5 %.
    assert np.std(outputs) == pytest.approx(10.597, rel=0.03)


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(ValueError, match="opendp:laplace"):
        load_target("opendp:laplace")


def test_an_unknown_mechanism_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"numpy has no 'laplacian'; did you mean 'laplace'\?"):
        load_target("numpy:laplacian")
    with pytest.raises(ValueError, match=r"numpy has no 'zzz'; targets in it: exponential, gaussian, laplace"):
        load_target("numpy:zzz")


def test_a_child_loads_a_mechanism_with_its_claim_and_version(faked: Loaded) -> None:
    target = faked("diffprivlib:laplace", epsilon=0.25)
    assert (target.name, target.version) == ("diffprivlib:laplace", "diffprivlib 9.9")
    assert (target.kind, target.claim) == (Kind.NOISE, PrivacyClaim(0.25))
    outputs = target.outputs(3.0, 100, rng())
    assert outputs.min() >= 3
    assert outputs.max() < 4
    assert np.array_equal(outputs, target.outputs(3.0, 100, rng()))
    assert not np.array_equal(outputs, target.outputs(3.0, 100, rng(2)))


def test_a_fake_without_real_noise_is_refuted_and_the_finding_tells_its_version(faked: Loaded) -> None:
    (finding,) = audit(faked("diffprivlib:sum", bounds=NARROW_BOUNDS), [SumSensitivity()], trials=2_000)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.target_version == "diffprivlib 9.9"


@pytest.mark.parametrize("format_", ["float64", "bfloat16"])
def test_torchs_selections_take_their_exponents_in_the_format_of_their_name(faked: Loaded, format_: str) -> None:
    target = faked(f"torch:multinomial_{format_}", epsilon=2.0)
    drawn = target.outputs(np.array([0.0, 1.0]), 20_000, rng())
    # e/(1 + e) of the outputs; the standard error is 0.0031, and an exponent of 1 is a number of every format.
    assert drawn.mean() == pytest.approx(math.e / (1 + math.e), abs=0.02)
    assert np.array_equal(drawn, target.outputs(np.array([0.0, 1.0]), 20_000, rng()))


def test_two_answers_with_noise_from_one_seed_differ_by_what_the_answers_do(faked: Loaded) -> None:
    target = faked("torch:gaussian_one_seed_float32")
    assert target.kind is Kind.DATASET
    assert target.domain is not None
    assert target.domain.contains(np.array([3.0, 0.0]))
    assert not target.domain.contains(np.array([3.0]))
    first, second = target.outputs(np.array([3.0, 0.0]), 100, rng()).T
    assert np.abs(first - second - 3).max() < 1e-5
    assert np.std(second) > 1


def test_integers_reach_mechanisms_over_integers_and_come_back_as_integers(faked: Loaded) -> None:
    outputs = faked("diffprivlib:geometric").outputs(2.5, 50, rng())
    assert outputs.dtype.kind == "i"
    assert set(outputs) <= set(range(2, 10))


@pytest.mark.parametrize("spec", ["opendp:laplace", "pydp:laplace", "tumult:laplace"])
def test_an_answer_that_is_no_double_is_refused_by_mechanisms_over_doubles(faked: Loaded, spec: str) -> None:
    with pytest.raises(TargetError, match="9007199254740993 is not a double"):
        faked(spec).outputs(2**53 + 1, 1, rng())


@pytest.mark.parametrize(
    ("spec", "parameters", "input_", "outputs"),
    [
        ("opendp:laplace", {"epsilon": 0.5}, 1.5, [3.5, 3.5]),
        ("opendp:laplace_integer_of_9", {}, 2, [11, 11]),
        ("pydp:laplace", {}, 2, [3.0, 3.0]),
        ("pydp:laplace_integer", {}, 2.0, [3, 3]),
        ("pydp:sum", {"bounds": (0.0, 2.0)}, np.array([-5.0, 1.5, 7.0]), [3.5, 3.5]),
        ("tumult:geometric", {}, 2.5, [3, 3]),
        ("tumult:gaussian_discrete", {"epsilon": 2.0, "delta": 0.1}, 2.5, [3, 3]),
        ("smartnoise:laplace", {"epsilon": 0.5}, 1.5, [3.5, 3.5]),
        ("smartnoise:gaussian", {"delta": 0.25}, 0.0, [1.25, 1.25]),
        ("diffprivlib:exponential", {}, np.array([0.0, 3.0, 1.0]), [1, 1]),
    ],
)
def test_a_mechanism_is_given_its_input_and_scale_in_the_form_that_it_takes(
    faked: Loaded, spec: str, parameters: dict[str, Any], input_: Any, outputs: list[float]
) -> None:
    drawn = faked(spec, **parameters).outputs(input_, 2, rng())
    assert drawn.tolist() == outputs
    assert drawn.dtype.kind == ("f" if isinstance(outputs[0], float) else "i")


def test_a_target_of_a_library_says_its_version_its_claim_and_which_neighbours_it_means(faked: Loaded) -> None:
    pydp, opendp, smartnoise = faked("pydp:sum"), faked("opendp:laplace_integer_of_20"), faked("smartnoise:laplace")
    assert (pydp.version, pydp.bounds, pydp.relation) == ("python-dp 9.7", (0.0, 1.0), "add-remove")
    assert (opendp.version, opendp.claim, opendp.relation) == ("opendp 9.8", PrivacyClaim(1 / 20), None)
    assert (smartnoise.version, smartnoise.noise_scale) == ("smartnoise-sql 9.1", 1.0)
    assert faked("diffprivlib:sum").relation == "substitute"


def test_tumults_scales_are_those_of_the_claim(faked: Loaded) -> None:
    laplace = faked("tumult:laplace", epsilon=0.5)
    assert laplace.version == "tmlt.core 9.2"
    assert laplace.outputs(1.5, 2, rng()).tolist() == [3.5, 3.5]
    gaussian = faked("tumult:gaussian", epsilon=0.5, delta=1e-5)
    variance = gaussian.outputs(0.0, 1, rng())[0]
    assert gaussian.noise_scale == pytest.approx(math.sqrt(variance))
    # ρ-zCDP of a Gaussian is ρ = 1/(2σ²), and implies (ρ + 2·√(ρ·ln(1/δ)), δ).
    assert 1 / (2 * variance) + 2 * math.sqrt(math.log(1e5) / (2 * variance)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("spec", "claim"),
    [
        ("opendp:gaussian_zcdp", ZeroConcentrated(0.125)),
        ("opacus:gaussian_rdp", Renyi((1.5, 2.0, 8.0), (0.1875, 0.25, 1.0))),
        ("jax_privacy:gaussian_float32_gdp", GaussianDP(0.5)),
    ],
)
def test_a_mechanism_claims_what_its_library_declares(faked: Loaded, spec: str, claim: Claim) -> None:  # noqa: ARG001 - the fakes must be there
    description = described(spec, 0.5)
    assert claim_from_json(description["claim"]) == claim
    assert not {"epsilon", "delta"} & set(description)
    assert description.get("noise_scale") == (2.0 if description["kind"] == "noise" else None)


@pytest.mark.parametrize("spec", ["torch:laplace_bfloat16", "torch:gaussian_float32", "jax:gaussian_float16"])
def test_samplers_give_outputs_in_the_format_of_their_name(faked: Loaded, spec: str) -> None:
    format_ = spec.rpartition("_")[2]
    target = faked(spec, epsilon=0.5)
    outputs = target.outputs(1.0, 20_000, rng())
    assert outputs.dtype == DTYPES[format_]
    assert format_of(outputs).name == {"bfloat16": "bfloat16"}.get(format_, format_.replace("float", "binary"))
    # Standard deviations: 2√2, and √(2·ln(1.25/δ))/ε = 9.69.
    expected = 2.828 if "laplace" in spec else 9.690
    assert np.std(outputs.astype(float)) == pytest.approx(expected, rel=0.05)
    assert np.array_equal(outputs, target.outputs(1.0, 20_000, rng()))
    assert not np.array_equal(outputs, target.outputs(1.0, 20_000, rng(2)))


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ("torch:gaussian_bfloat16", 257.0),
        ("opacus:gaussian", 2**24 + 1),
    ],
)
def test_answers_that_a_format_lacks_are_refused(faked: Loaded, spec: str, answer: float) -> None:
    with pytest.raises(TargetError, match=f"the answer {answer} cannot be represented in .*float"):
        faked(spec).outputs(answer, 1, rng())


def test_opacus_and_jax_privacy_add_their_noise_to_a_gradient(faked: Loaded) -> None:
    for spec, scale in {
        "opacus:gaussian": 3.7306,
        "opacus:gaussian_secure_mode": 2 * 3.7306,
        "jax_privacy:gaussian_float32": 4.8448,
    }.items():
        target = faked(spec)
        assert target.noise_scale in (None, _noise_multiplier(1.0, 1e-5))
        outputs = target.outputs(8.0, 20_000, rng())
        assert outputs.dtype == np.float32
        assert np.mean(outputs) == pytest.approx(8.0, abs=0.3)
        assert np.std(outputs) == pytest.approx(scale, rel=0.03)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
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


DESCRIBED = """
def constant(*, epsilon=1.0):
    release = lambda answer, trials, rng: [answer] * trials
    return {"kind": "noise", "release": release, "epsilon": epsilon, "sensitivity": 2.0, "noise_scale": 0.1}

def without_a_release(*, epsilon=1.0):
    return {"kind": "noise", "epsilon": epsilon}

def with_a_domain(*, epsilon=1.0):
    domain = {"shape": {"form": "queries", "size": 2}}
    release = lambda answers, trials, rng: [list(answers)] * trials
    return {"kind": "dataset", "release": release, "epsilon": epsilon, "domain": domain}

def with_something_else(*, epsilon=1.0):
    return {**constant(epsilon=epsilon), "colour": "red"}

def with_one_bound(*, epsilon=1.0):
    return {"kind": "sum", "release": constant()["release"], "epsilon": epsilon, "bounds": 5}
"""


@pytest.mark.parametrize("isolate", [False, True])
def test_any_file_may_describe_its_targets_in_dicts(tmp_path: Path, loaded: Loaded, isolate: bool) -> None:
    file = tmp_path / "described.py"
    file.write_text(DESCRIBED)
    load = loaded if isolate else load_target
    target = load(f"{file}:constant", epsilon=0.5)
    assert (target.name, target.kind) == ("constant", Kind.NOISE)
    assert (target.claim, target.sensitivity) == (PrivacyClaim(0.5), 2.0)
    assert target.noise_scale == 0.1
    assert target.outputs(7.0, 2, rng()).tolist() == [7.0, 7.0]
    domain = load(f"{file}:with_a_domain").domain
    assert domain is not None
    assert domain.contains(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="returned a dict with"):
        load(f"{file}:without_a_release")
    with pytest.raises(ValueError, match="colour"):
        load(f"{file}:with_something_else")
    with pytest.raises(TypeError, match=r"^bounds must be two numbers, lower and upper, not 5$"):
        load(f"{file}:with_one_bound")


def test_what_the_system_and_numpy_give_diffprivlib_comes_from_the_generator_alone() -> None:
    def drawn(seed: int) -> list[float]:
        with _drawing_from(rng(seed)):
            system = [secrets.SystemRandom().random(), secrets.randbits(62), random.SystemRandom().normalvariate()]
            return [*system, np.random.default_rng().random(), np.random.random_sample()]

    assert drawn(1) == drawn(1)
    assert not set(drawn(1)) & set(drawn(2))
    assert secrets.randbits(62) != secrets.randbits(62)


def test_numpys_global_state_is_left_as_it_was() -> None:
    def next_number(seed: int | None) -> float:
        np.random.seed(7)
        if seed is not None:
            with _drawing_from(rng(seed)):
                np.random.random_sample()
        return np.random.random_sample()

    assert next_number(1) == next_number(2) == next_number(None)
