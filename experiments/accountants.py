"""Accountants of DP-SGD, ours and those of libraries, against a certified enclosure of what is lost.

A step adds Gaussian noise to a Poisson sample. The enclosure is that of `attacklab.calibration.privacy_loss`. Libraries
run in the environments that are built here: `make .environments/accountants/dp_accounting-0.6.0/.ready`. Sources: Abadi
and others 2016, 'Deep Learning with Differential Privacy'; Dong, Roth and Su 2022, section 5 (the central limit); Gopi,
Lee and Wutschitz 2021, 'Numerical Composition of Differential Privacy'.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.calibration.privacy_loss import sampled_gaussian_epsilon
from attacklab.loading.environments import BUILT, PINNED, environments
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from experiments.common.calibration_formulas import NAIVE, SOUND
from experiments.common.curves import figure, line, panel
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "How much do accountants of DP-SGD say is lost, and how much is?"

SIGMA, RATE, DELTA = 1.0, 0.01, 1e-6
STEPS = (1, 4, 16, 64, 256, 1024, 4096)

OWN = {
    "central limit": NAIVE["sampled_gaussian_epsilon"],
    "Rényi orders, rounded up": SOUND["sampled_gaussian_epsilon"],
}
SCRIPTS: Mapping[str, str] = {
    "opacus": """
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant
def epsilon(kind, count):
    accountant = kind()
    accountant.history = [(sigma, rate, count)]
    try:
        return float(accountant.get_epsilon(delta)).hex()
    except ValueError:
        return None
kinds = {"GDP": GaussianAccountant, "PRV": PRVAccountant, "RDP": RDPAccountant}
print(json.dumps({name: [epsilon(kind, count) for count in steps] for name, kind in kinds.items()}))
""",
    "dp_accounting": """
import dp_accounting
from dp_accounting import pld, rdp
def epsilon(kind, count):
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    return float(kind().compose(step, count).get_epsilon(delta)).hex()
kinds = {"PLD": pld.PLDAccountant, "RDP": rdp.RdpAccountant}
print(json.dumps({name: [epsilon(kind, count) for count in steps] for name, kind in kinds.items()}))
""",
    "prv_accountant": """
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism
prv = PoissonSubsampledGaussianMechanism(noise_multiplier=sigma, sampling_probability=rate)
accountant = PRVAccountant(prvs=[prv], max_self_compositions=[max(steps)], eps_error=0.1, delta_error=delta / 1000)
ends = [accountant.compute_epsilon(delta=delta, num_self_compositions=[count])[2] for count in steps]
print(json.dumps({"upper end": [float(end).hex() for end in ends]}))
""",
}
"""For each library a program that prints its accountants' answers, or null for a refusal. `BEGIN` comes before it."""

BEGIN = """
import json, sys, warnings
warnings.simplefilter("ignore")
sigma, rate, delta, steps = json.loads(sys.argv[1])
"""

SECONDS = 600.0
"""How long such a program may take."""

Said: TypeAlias = "list[float | None]"


def collect(settings: Settings) -> Collected:
    """Enclose the ε of some numbers of steps, and ask the accountants."""
    steps = STEPS[: settings.budget(len(STEPS), 3)]
    known = [sampled_gaussian_epsilon(SIGMA, RATE, count, DELTA) for count in steps]
    said: dict[str, Said] = {
        name: [float(formula(sigma=SIGMA, rate=RATE, steps=count, delta=DELTA)) for count in steps]
        for name, formula in OWN.items()
    }
    said |= dict(_libraries(steps))
    bounds = [[bound.below(), bound.above()] for bound in known]
    return Collected(timings={"steps": steps, "known": bounds, "said": said})


def _libraries(steps: tuple[int, ...]) -> Iterator[tuple[str, Said]]:
    """What the accountants say of the libraries that are built here."""
    for name, python in _pythons():
        program = SCRIPTS.get(name.rpartition("-")[0])
        if program is None:
            continue
        command = [str(python), "-c", BEGIN + program, json.dumps([SIGMA, RATE, DELTA, steps])]
        printed = subprocess.run(  # noqa: S603 - the program above
            command, check=True, capture_output=True, text=True, timeout=SECONDS
        ).stdout
        for kind, epsilons in json.loads(printed).items():
            yield f"{name} {kind}", [None if one is None else float.fromhex(one) for one in epsilons]


def _pythons() -> Iterator[tuple[str, Path]]:
    """The environments that are built here: of libraries, and of what is an accountant alone."""
    yield from ((made.name, made.python) for made in environments(Path.cwd()) if not made.is_missing)
    for pinned in sorted(Path(PINNED, "accountants").glob("*.txt")):
        python = Path(BUILT, "accountants", pinned.stem, "bin", "python").absolute()
        if python.exists():
            yield pinned.stem, python


def verdicts(said: Said, known: list[list[float]]) -> list[str]:
    """Of each number whether it is safe, spends more than it says, lies between, or was refused."""
    return [
        "refused" if one is None else "violated" if one < lower else "safe" if one >= upper else "undecided"
        for one, (lower, upper) in zip(said, known, strict=True)
    ]


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """What is said, as a part of what is lost at least."""
    measured = data["timings"]
    steps, known = measured["steps"], measured["known"]
    series = [_ratios(name, said, measured) for name, said in measured["said"].items()]
    series.append(line("certified", Role.CEILING, steps, [upper / lower for lower, upper in known]))
    title = f"ε as a part of what is lost at least, σ = {SIGMA:g}, rate {RATE:g}, δ = {DELTA:g}"
    caption = "Below 1 an accountant spends more than it says; far above, it wastes accuracy."
    return [figure("accountants", caption, [panel(title, "steps", "", series, x_scale="log", y_scale="log")])]


def _ratios(name: str, said: Said, measured: Mapping[str, Any]) -> Series:
    rows = zip(measured["steps"], said, measured["known"], strict=True)
    told = [(count, one / lower) for count, one, (lower, _) in rows if one]
    role = Role.NAIVE if "violated" in verdicts(said, measured["known"]) else Role.EXACT
    return line(name, role, [count for count, _ in told], [ratio for _, ratio in told])


def explain_timings(data: dict[str, Any]) -> str:
    """A row for each accountant."""
    measured = data["timings"]
    known = measured["known"]
    head = "| accountant | safe | violated | undecided | refused | least of what is lost | most |"
    lines = [PARAGRAPHS["accountants"].format(sigma=SIGMA, rate=RATE, delta=DELTA, most=measured["steps"][-1])]
    lines += ["", head, "|---|---|---|---|---|---|---|"]
    for name, said in measured["said"].items():
        found = verdicts(said, known)
        counts = " | ".join(str(found.count(verdict)) for verdict in ("safe", "violated", "undecided", "refused"))
        ratios = [one / lower for one, (lower, _) in zip(said, known, strict=True) if one is not None]
        lines.append(f"| {name} | {counts} | {min(ratios):.3g} | {max(ratios):.3g} |")
    return "\n".join(lines)
