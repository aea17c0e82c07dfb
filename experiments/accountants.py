"""Accountants, ours and those of libraries, against a certified enclosure of what is lost.

Steps of DP-SGD add Gaussian noise to Poisson samples; accountants that know no samples are asked for Gaussian noise, or
for releases of pure DP. Libraries run in the environments that are built here:
`make .environments/accountants/dp_accounting-0.6.0/.ready`. Sources: Abadi and others 2016, 'Deep Learning with
Differential Privacy'; Dong, Roth and Su 2022, section 5 (the central limit); Gopi, Lee and Wutschitz 2021, 'Numerical
Composition of Differential Privacy'.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attacklab.calibration import budgets, gaussian, privacy_loss
from attacklab.loading.environments import BUILT, PINNED, environments
from attacklab.model.intervals import Interval
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from experiments.common.calibration_formulas import NAIVE, SOUND
from experiments.common.curves import figure, line, panel
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "How much do accountants say is lost, and how much is?"

SIGMA, RATE, DELTA = 1.0, 0.01, 1e-6
WIDE, EACH = 10.0, 0.1
STEPS = (1, 4, 16, 64, 256, 1024, 4096)

ENCLOSED: Mapping[str, Callable[[int], Interval]] = {
    "samples": lambda count: privacy_loss.sampled_gaussian_epsilon(SIGMA, RATE, count, DELTA),
    "noise": lambda count: gaussian.epsilon(DELTA, WIDE, 1.0, count),
    "pure DP": lambda count: budgets.composed_epsilon(EACH, count, DELTA),
}
"""Functions that enclose the ε of `count` steps on samples, of Gaussian noise with σ = WIDE, or of EACH-DP releases."""

OWN = {
    "central limit": NAIVE["sampled_gaussian_epsilon"],
    "Rényi orders, rounded up": SOUND["sampled_gaussian_epsilon"],
}
SCRIPTS = tomllib.loads((Path(__file__).parent / "data" / "accountants.toml").read_text("utf-8"))
"""By library, or version of one: the key `of` of `ENCLOSED` that it is asked about, and a `program` to run."""

BEGIN = """
import json, sys, warnings
warnings.simplefilter("ignore")
sigma, rate, delta, wide, each, steps = json.loads(sys.argv[1])
"""
END = """
def said(kind, count):
    try:
        return float(epsilon(kind, count)).hex()
    except ValueError:
        return None
print(json.dumps({name: [said(kind, count) for count in steps] for name, kind in kinds.items()}))
"""

SECONDS = 600.0
"""The timeout of such a program, in seconds."""


def collect(settings: Settings) -> Collected:
    """Enclose the ε of some numbers of steps, and ask the accountants."""
    steps = STEPS[: settings.budget(len(STEPS), 3)]
    known = {of: [enclose(count) for count in steps] for of, enclose in ENCLOSED.items()}
    bounds = {of: [[bound.below(), bound.above()] for bound in row] for of, row in known.items()}
    said: dict[str, dict[str, Any]] = {
        name: {
            "of": "samples",
            "epsilons": [float(formula(sigma=SIGMA, rate=RATE, steps=count, delta=DELTA)) for count in steps],
        }
        for name, formula in OWN.items()
    }
    return Collected(timings={"steps": steps, "known": bounds, "said": said | dict(_libraries(steps))})


def _libraries(steps: tuple[int, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, {of, epsilons}) for each accountant of the environments built here; None where it refuses."""
    arguments = json.dumps([SIGMA, RATE, DELTA, WIDE, EACH, steps])
    for name, python in _pythons():
        for script in (script for library, script in SCRIPTS.items() if name.startswith(library)):
            command = [str(python), "-c", BEGIN + script["program"] + END, arguments]
            printed = subprocess.run(  # noqa: S603 - the program above
                command, check=True, capture_output=True, text=True, timeout=SECONDS
            ).stdout
            for kind, epsilons in json.loads(printed).items():
                said = [None if epsilon is None else float.fromhex(epsilon) for epsilon in epsilons]
                yield f"{name} {kind}", {"of": script["of"], "epsilons": said}


def _pythons() -> Iterator[tuple[str, Path]]:
    """Yield the name and the interpreter of each environment built here, of libraries and of mere accountants."""
    yield from ((made.name, made.python) for made in environments(Path.cwd()) if not made.is_missing)
    for pinned in sorted(Path(PINNED, "accountants").glob("*.txt")):
        python = Path(BUILT, "accountants", pinned.stem, "bin", "python").absolute()
        if python.exists():
            yield pinned.stem, python


def verdicts(said: list[float | None], known: list[list[float]]) -> list[str]:
    """Return for each number: safe, violated (more is spent than it says), undecided, or refused."""
    return [
        "refused" if one is None else "violated" if one < lower else "safe" if one >= upper else "undecided"
        for one, (lower, upper) in zip(said, known, strict=True)
    ]


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the ε that each accountant states, divided by the lower bound on the ε that is lost."""
    measured = data["timings"]
    steps = measured["steps"]
    series = [_ratios(name, said, measured) for name, said in measured["said"].items()]
    for of, known in measured["known"].items():
        series.append(line(f"certified, {of}", Role.CEILING, steps, [upper / lower for lower, upper in known]))
    caption = "Below 1 an accountant spends more than it says; far above, it wastes accuracy."
    title = f"reported ε / certified lower bound, δ = {DELTA:g}"
    return [figure("accountants", caption, [panel(title, "steps", "", series, x_scale="log", y_scale="log")])]


def _ratios(name: str, said: Mapping[str, Any], measured: Mapping[str, Any]) -> Series:
    known = measured["known"][said["of"]]
    rows = zip(measured["steps"], said["epsilons"], known, strict=True)
    told = [(count, one / lower) for count, one, (lower, _) in rows if one]
    role = Role.NAIVE if "violated" in verdicts(said["epsilons"], known) else Role.EXACT
    return line(name, role, [count for count, _ in told], [ratio for _, ratio in told])


def explain_timings(data: dict[str, Any]) -> str:
    """Return a paragraph and a table with a row for each accountant."""
    measured = data["timings"]
    head = "| accountant | of | safe | violated | undecided | refused | lowest ratio | highest |"
    most = measured["steps"][-1]
    lines = [PARAGRAPHS["accountants"].format(sigma=SIGMA, rate=RATE, delta=DELTA, wide=WIDE, each=EACH, most=most)]
    lines += ["", head, "|---|---|---|---|---|---|---|---|"]
    for name, said in measured["said"].items():
        known = measured["known"][said["of"]]
        found = verdicts(said["epsilons"], known)
        counts = " | ".join(str(found.count(verdict)) for verdict in ("safe", "violated", "undecided", "refused"))
        rows = zip(said["epsilons"], known, strict=True)
        ratios = [one / lower for one, (lower, _) in rows if one is not None]
        lines.append(f"| {name} | {said['of']} | {counts} | {min(ratios):.3g} | {max(ratios):.3g} |")
    return "\n".join(lines)
