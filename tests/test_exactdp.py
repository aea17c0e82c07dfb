"""The library of exact noise as whoever installs it has it: its wheel, alone in an environment, and in real libraries.

The journey: build the wheel, install it beside numpy and gmpy2, import it, run what its README shows, check types, have
its certificates checked, and put it into somebody else's library.
"""

import json
import os
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from attacklab.loading.environments import Environment, environments
from tests import running
from tests.test_packaging import built, copied_tree, needs_hatchling

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "wheels" / "exactdp"
MOST_SECONDS = 0.3
"""Of the processor, to start Python and import the library with numpy and gmpy2."""

MADE = """{
    "laplace": laplace(epsilon=1.0, sensitivity=1, step=2**-10),
    "gaussian": gaussian(sigma=2, step=2**-4),
    "gaussian_by_delta": gaussian(epsilon=1.0, delta=1e-6, step=2**-4),
    "geometric": geometric(epsilon=0.5, sensitivity=2),
    "histogram": histogram(epsilon=1.0),
    "select": select(epsilon=1.0),
    "report_noisy_max": report_noisy_max(epsilon=1.0),
    "above_threshold": above_threshold(epsilon=1.0, threshold=5, positives=2, step=1),
    "quantile": quantile(epsilon=1.0, quantile=0.9, lower=0, upper=8, step=2**-4),
    "bounded_sum": bounded_sum(epsilon=1.0, lower=0, upper=8, step=2**-4),
    "bounded_mean": bounded_mean(epsilon=1.0, lower=0, upper=8, step=2**-4),
}"""
"""One mechanism of each function."""

USER = """
import numpy as np
from exactdp import above_threshold, bounded_mean, gaussian, geometric, histogram, laplace, quantile, select

noise = laplace(epsilon=1.0, sensitivity=1, step=2**-10)
released: float = noise(3.5)
several: float = noise.each(np.zeros(3)).sum()
epsilon = float(noise.claim.epsilon)
rho = float(gaussian(sigma=2, step=2**-10).claim.rho)
delta = float(gaussian(epsilon=1, delta=1e-6, step=2**-10).claim.delta)
count: int = geometric(epsilon=1)(5)
counts: list[int] = histogram(epsilon=1)([1, 2]).tolist()
outcome: int = select(epsilon=1)([1.0, 2.0])
above: tuple[bool, ...] = above_threshold(epsilon=1, threshold=1, step=1)([1, 2])
mean: float = bounded_mean(epsilon=1, lower=0, upper=1, step=2**-4)([0.5])
chance = float(quantile(epsilon=1, quantile=0.5, lower=0, upper=4, step=1).law([1, 2])[2.0].lower)
width: float = noise.accuracy(0.95)
"""
WRONG = "from exactdp import gaussian\nrho = gaussian(epsilon=1, delta=1e-6, step=1).claim.rho\n"

WRITE = "print(json.dumps(exactdp.laplace(epsilon=1, step=1).certificate('laplace')))"

ADAPTED = {
    "diffprivlib-0.6.6": "diffprivlib_laplace --kind noise --trials 5000",
    "opacus-1.6.0": "opacus_gradient --kind noise --delta 1e-5 --trials 5000",
    "pipelinedp-0.3.1": "pipelinedp_sum --kind sum --bounds 0 8 --relation add-remove --trials 1000",
    "tumult-0.20.0": "tumult_laplace --kind noise --trials 5000",
}
"""The example of each environment, and how it is audited."""

pytestmark = [pytest.mark.slow, needs_hatchling]


def copied(folder: Path, *, reverse: bool) -> Path:
    """Copy what the wheel is built from, in one order or the other, and return the project's folder."""
    return copied_tree(folder, ["wheels/exactdp", "mechanisms", "checker"], reverse=reverse) / "wheels" / "exactdp"


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def run(command: list[str], folder: Path, **environment: str) -> str:
    """Run a command with no path of the checkout, and return what it says."""
    done = running.run(command, folder, hidden=("PYTHONPATH", "VIRTUAL_ENV"), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exactdp")
    return built(copied(folder / "tree", reverse=False), "wheel", folder / "dist")


@pytest.fixture(scope="module")
def python(wheel: Path) -> str:
    """The interpreter of an environment with the wheel and its two dependencies, as they are pinned."""
    folder = wheel.parents[1]
    pinned = re.findall(r"(?m)^(?:numpy|gmpy2)==.*$", (ROOT / "constraints.txt").read_text("utf-8"))
    assert len(pinned) == 2
    run([sys.executable, "-m", "venv", "made"], folder)
    interpreter = str(folder / "made" / "bin" / "python")
    run([interpreter, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel), *pinned], folder)
    run([interpreter, "-m", "pip", "check"], folder)
    return interpreter


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    """The wheel's files in a folder, for environments that others built."""
    shutil.unpack_archive(wheel, wheel.parents[1] / "unpacked", "zip")
    return wheel.parents[1] / "unpacked"


def test_two_builds_from_two_folders_have_equal_bytes(wheel: Path, tmp_path: Path) -> None:
    again = built(copied(tmp_path / "tree", reverse=True), "wheel", tmp_path / "dist")
    assert (again.name, again.read_bytes()) == (wheel.name, wheel.read_bytes())


def test_the_sdist_holds_what_the_wheel_is_built_from(wheel: Path, tmp_path: Path) -> None:
    sdist = built(copied(tmp_path / "tree", reverse=False), "sdist", tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "alone", filter="data")
    (project,) = (tmp_path / "alone").iterdir()
    assert contents(built(project, "wheel", tmp_path / "again")).items() >= {
        (name, text) for name, text in contents(wheel).items() if not name.endswith("RECORD")
    }


def test_the_wheel_holds_the_exact_mechanisms_under_its_own_name_and_nothing_else(wheel: Path) -> None:
    files = contents(wheel)
    code = {name: text.decode() for name, text in files.items() if name.endswith(".py")}
    assert {name.split("/")[0].partition("-")[0] for name in files} == {"exactdp"}
    assert {"exactdp/py.typed", "exactdp/_mechanisms/core/noisy.py"} <= set(files)
    assert not [name for name in code if "naive" in name]
    assert not [
        name
        for name, text in code.items()
        if re.search(r"(?m)^\s*(from|import) (attacklab|mechanisms|checker)\b", text)
    ]
    for name, text in code.items():
        source = ROOT / name.removeprefix("exactdp/_")
        if name not in ("exactdp/__init__.py", "exactdp/_checker/readings.py"):
            assert re.sub(r"exactdp\._(?=mechanisms|checker)", "", text) == source.read_text("utf-8"), name
    (licence,) = (text for name, text in files.items() if name.endswith("licenses/LICENSE"))
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_the_wheel_asks_for_numpy_and_gmpy2_and_for_a_cipher_as_an_extra(wheel: Path) -> None:
    (metadata,) = (text.decode() for name, text in contents(wheel).items() if name.endswith("METADATA"))
    needed = dict(name.split(">", 1) for name in re.findall(r"(?m)^Requires-Dist: (.*)$", metadata))
    extra = needed.pop("cryptography")
    assert extra.endswith("; extra == 'fast'")
    assert list(needed) == ["gmpy2", "numpy"]
    assert not any("extra" in condition for condition in needed.values())
    assert re.findall(r"(?m)^Classifier: .* (3\.\d+)$", metadata) == ["3.11", "3.12", "3.13"]


def test_it_is_imported_in_no_time_and_brings_no_module_of_the_lab(python: str, tmp_path: Path) -> None:
    """The least of several measurements of the main thread's time, which other programs disturb least."""
    code = "import time, exactdp; print(time.thread_time())"
    seconds = [float(run([python, "-c", code], tmp_path)) for _ in range(6)]
    assert min(seconds) < MOST_SECONDS
    loaded = run([python, "-c", "import sys, exactdp; print(*sys.modules)"], tmp_path).split()
    assert "exactdp._mechanisms.core.noisy" in loaded
    assert not {name.split(".")[0] for name in loaded} & {"attacklab", "mechanisms", "scipy"}
    assert not [name for name in loaded if "naive" in name]


def test_the_readme_prints_what_it_says(python: str, tmp_path: Path) -> None:
    text = (PROJECT / "README.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.DOTALL)
    assert len(blocks) == 3
    assert len(blocks[0][0].splitlines()) == 3
    for code, said in blocks:
        assert run([python, "-W", "error", "-c", code], tmp_path) == said


def test_types_are_checked_as_strictly_as_mypy_can(python: str, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER, "utf-8")
    run([python, "user.py"], tmp_path)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", ".types"]
    assert "no issues" in run([*mypy, "user.py"], tmp_path)
    with pytest.raises(AssertionError, match='"ApproximateDP" has no attribute "rho"'):
        run([*mypy, "-c", WRONG], tmp_path)


def test_the_checkers_accept_the_certificate_of_each_mechanism(python: str, tmp_path: Path) -> None:
    """Both the repository's, shown the installed code, and the command that came with it, until a line differs."""
    code = f"import json\nfrom exactdp import *\nfor name, made in {MADE}.items():\n    "
    written = run([python, "-c", code + "print(json.dumps(made.certificate(name)))"], tmp_path).splitlines()
    certificates: list[dict[str, Any]] = [json.loads(line) for line in written]
    assert len(certificates) == 11
    paths = [tmp_path / f"{certificate['name']}.json" for certificate in certificates]
    for path, line in zip(paths, written, strict=True):
        path.write_text(line, "utf-8")
    installed = Path(run([python, "-c", "import exactdp; print(exactdp.__path__[0])"], tmp_path).strip())
    ours = [sys.executable, str(ROOT / "checker" / "check.py")]
    theirs = [str(Path(python).with_name("exactdp-check"))]
    for command in (ours, [*ours, "--code", str(installed.parent)], theirs):
        said = run([*command, *map(str, paths)], tmp_path)
        assert said.count("ACCEPTED") == len(said.splitlines()) / 2 == 11
    glue = installed / "_mechanisms" / "releasing.py"
    whole = glue.read_text("utf-8")
    glue.write_text(
        whole.replace("self.term.release(self._read(data, strict), self.bits)", "self._read(data, strict)"), "utf-8"
    )
    with pytest.raises(AssertionError, match=r"REFUSED .*: mechanisms/releasing\.py has changed since it was read"):
        run([*theirs, str(paths[0])], tmp_path)
    paths[0].write_text(run([python, "-c", "import json, exactdp; " + WRITE], tmp_path), "utf-8")
    glue.write_text(whole, "utf-8")
    with pytest.raises(AssertionError, match=r"REFUSED .*: the certificate was written by other code .*releasing"):
        run([*theirs, str(paths[0])], tmp_path)


def environment(name: str) -> Environment:
    """Return an environment, if it is built as it is pinned."""
    (pinned,) = (each for each in environments(ROOT) if each.name == name)
    if pinned.is_missing or running.run([pinned.python, "-c", "import gmpy2"]).returncode:
        pytest.skip(f"{name} is not built as it is pinned: {pinned.build}")
    return pinned


@pytest.mark.parametrize("name", ADAPTED)
def test_a_real_library_with_exact_noise_passes_its_audit(name: str, unpacked: Path) -> None:
    """Null hypothesis: the claim holds. The audit refutes it with probability 10^−9 at most."""
    environment(name)
    file, *options = ADAPTED[name].split()
    target = str(ROOT / "examples" / "exactdp" / f"{file}.py:release")
    given = [*options, "--in-env", name, "--epsilon", "1", "--alpha", "1e-9"]
    audit = [sys.executable, "-m", "attacklab", "audit", target, *given]
    path = os.pathsep.join(map(str, (ROOT, unpacked)))
    assert "PASS (no proof)" in run(audit, ROOT, PYTHONPATH=path)


def test_opacus_trains_on_exact_gradients_and_counts_them(unpacked: Path, tmp_path: Path) -> None:
    """Rows that are too long, not finite, tiny or absent add at most the clipping norm; a batch is used once."""
    pinned = environment("opacus-1.6.0")
    code = """
import torch
from opacus import PrivacyEngine
from opacus_gradient import ExactOptimizer, exact

data = torch.utils.data.TensorDataset(torch.eye(8), torch.ones(8, 1))
model, engine = torch.nn.Linear(8, 1), PrivacyEngine(accountant="rdp")
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
    data_loader=torch.utils.data.DataLoader(data, batch_size=2),
    noise_multiplier=1.0,
    max_grad_norm=1.0,
)
optimizer = exact(optimizer, step=2**-10)
for values, labels in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(values), labels).backward()
    optimizer.step()
assert [steps for _, _, steps in engine.accountant.history] == [len(loader)]
for parameter in model.parameters():
    assert torch.all(parameter.grad * 2**11 % 1 == 0)
try:
    optimizer.step()
    raise AssertionError("a batch was used twice")
except ValueError:
    pass

torch.manual_seed(1)
for size in (1, 3, 1000):
    parameter = torch.nn.Parameter(torch.zeros(size))
    optimizer = ExactOptimizer(
        torch.optim.SGD([parameter], lr=1.0),
        step=2**-30,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=None,
        loss_reduction="sum",
    )
    rows = [torch.randn(size) * scale for scale in (1e38, 1e6, 1.0, 1e-3, 1e-40) for _ in range(20)]
    for row in [*rows, torch.full((size,), float("nan")), torch.full((size,), float("inf")), torch.zeros(size)]:
        optimizer.zero_grad()
        parameter.grad_sample = row.reshape(1, -1)
        optimizer.clip_and_accumulate()
        assert sum(int(steps) ** 2 for steps in parameter.summed_grad) <= 2**60
    optimizer.zero_grad()
    parameter.grad_sample = torch.zeros(0, size)
    optimizer.clip_and_accumulate()
    assert not parameter.summed_grad.any()
print("done")
"""
    path = os.pathsep.join(map(str, (ROOT / "examples" / "exactdp", unpacked)))
    assert run([str(pinned.python), "-W", "ignore", "-c", code], tmp_path, PYTHONPATH=path).endswith("done\n")
