"""The exact law of a published coin of probability e^−γ, found without changing its code, beside this lab's exact one.

diffprivlib's `bernoulli_neg_exp` takes any `secrets.SystemRandom`; `attacklab.laws.standard_random` gives it one whose
numbers are decided only as far as the coin compares them. Both coins follow Canonne, Kamath and Steinke 2020, 'The
discrete Gaussian for differential privacy', Algorithm 1. The library runs in this interpreter, with the packages of its
environment; where that is not built, rows of an earlier run are kept.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from gmpy2 import mpq

from attacklab.laws import Bounds, Limits, enumerate_law, exp_bounds
from attacklab.libraries.environments import Environment, environments
from attacklab.model.errors import TargetError
from attacklab.reporting.experiment import Collected, Settings, measured_here
from attacklab.reporting.figures import Figure, Role
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.coins import bernoulli_exp

QUESTION = "How far is a coin of probability e^−γ from e^−γ, in code that was not written to be proved?"

LIBRARY = "diffprivlib-0.6.6"
ROOT = Path(__file__).parent.parent
GAMMAS = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0)
QUICK_GAMMAS = (0.0, 0.5, 1.0)
LIMITS = Limits(unresolved=Fraction(1, 1 << 72))
UNIT = 2.0**-53

Row: TypeAlias = dict[str, Any]

CHILD = """\
import json, sys
sys.path.append(sys.argv[1])
from diffprivlib.mechanisms.base import bernoulli_neg_exp
from attacklab.laws.standard_random import passing_random
from experiments.existing_code import distances
print(json.dumps(distances(passing_random(bernoulli_neg_exp), json.loads(sys.argv[2]))))
"""
"""Run by a child process, because the packages of an environment are not those of the lab."""

MEASURED = """\
The coin of {name} was run as it is published, on random numbers that are decided only when they are compared. Its exact
law lies within {distance:.2f}·2^−53 of e^−γ, a certified bound; the largest distance is at γ = {at:g}. Its comparisons
`random() <= γ/k` have 53 bits, γ/k is rounded to a double, and `<=` counts one multiple of 2^−53 more than `<` would,
so distances of about 2^−53 are what this way of drawing allows. They are the size of one rounding, and by themselves
not a vulnerability."""
ABSENT = "Not measured: {name} (`{build}`)."


def collect(settings: Settings) -> Collected:
    """Find the law of each coin at each γ."""
    gammas = QUICK_GAMMAS if settings.quick else GAMMAS
    rows = _rows("exact", distances(bernoulli_exp, gammas, Fraction))
    (environment,) = (candidate for candidate in environments(ROOT) if candidate.name == LIBRARY)
    packages = site_packages(environment)
    if packages is not None:
        rows += _rows(LIBRARY, distances_in(packages, gammas))
    elif settings.previous:
        rows += [row for row in settings.previous["timings"]["rows"] if row["coin"] == LIBRARY]
    absent = [] if packages is not None else [environment.build]
    return Collected(timings={"rows": rows, "absent": absent})


def _rows(coin: str, results: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [{"coin": coin, **result, "measured": measured_here()} for result in results]


def site_packages(environment: Environment) -> Path | None:
    """The packages of an environment, if it is built for a Python like this one."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = environment.python.parent.parent / "lib" / version / "site-packages"
    return folder if not environment.is_missing and folder.is_dir() else None


def distances_in(packages: Path, gammas: Sequence[float]) -> list[Row]:
    """What `distances` finds of diffprivlib's coin, with the packages of its environment behind those of the lab.

    Raises:
        TargetError: the library cannot be imported, or its coin has no law that is found.
    """
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-W", "ignore", "-c", CHILD, str(packages), json.dumps(gammas)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise TargetError(f"the law of {LIBRARY}'s bernoulli_neg_exp was not found: {last}; build its environment anew")
    rows: list[Row] = json.loads(done.stdout)
    return rows


def distances(coin: Callable[..., Any], gammas: Sequence[float], number: Callable[[float], Any] = float) -> list[Row]:
    """Bounds on P[1] − e^−γ for a coin.

    Args:
        coin: `coin(gamma, bits)`, which gives 1 or True with a probability near e^−γ.
        gammas: the values of γ.
        number: the type in which the coin takes them.
    """
    rows = []
    for gamma in gammas:
        law = enumerate_law(coin, number(gamma), limits=LIMITS)
        mass, ideal = law.probability(lambda outcome: outcome == 1), exp_bounds(-mpq(gamma))
        distance = Bounds(mass.lower - ideal.upper, mass.upper - ideal.lower)
        rows.append({"gamma": gamma, "distance": as_floats(distance)})
    return rows


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """The distance against γ, in units of 2^−53."""
    rows = data["timings"]["rows"]
    labels = {"exact": ("this lab's exact coin", Role.EXACT), LIBRARY: (f"{LIBRARY}, bernoulli_neg_exp", Role.OTHER)}
    series = []
    for coin, (label, role) in labels.items():
        of_coin = [row for row in rows if row["coin"] == coin]
        if of_coin:
            x, y = ([row["gamma"] for row in of_coin], [middle(row["distance"]) / UNIT for row in of_coin])
            series.append(marks(label, role, x, y))
    outcomes = panel(
        "Coins of probability exp(−γ), by their exact laws", "γ", "P[1] − exp(−γ) in units of 2^−53", series
    )
    caption = "How far coins are from exp(−γ), by their exact laws."
    return [figure("existing_code", caption, [outcomes])]


def explain_timings(data: dict[str, Any]) -> str:
    """Say how far the coins are from e^−γ, and what that means."""
    rows = data["timings"]["rows"]
    exact, theirs = ([row for row in rows if (row["coin"] == "exact") is is_exact] for is_exact in (True, False))
    library = ""
    if theirs:
        worst = max(theirs, key=_most)
        library = MEASURED.format(name=LIBRARY, distance=math.ceil(100 * _most(worst) / UNIT) / 100, at=worst["gamma"])
    elif data["timings"]["absent"]:
        library = ABSENT.format(name=LIBRARY, build=data["timings"]["absent"][0])
    gammas = [row["gamma"] for row in exact]
    text = PARAGRAPHS["existing_code"].format(
        gammas=len(gammas), least=min(gammas), most=max(gammas), open=max(map(_most, exact)), library=library
    )
    return text.rstrip()


def timing_table(data: dict[str, Any]) -> list[list[str]]:
    """The distance of every coin at every γ, and where it was measured."""
    head = ["coin", "γ", "P[1] − e^−γ at least", "at most", "in units of 2^−53", "measured"]
    return [
        head,
        *(
            [
                row["coin"],
                f"{row['gamma']:g}",
                *(f"{end:.3e}" for end in row["distance"]),
                f"{middle(row['distance']) / UNIT:.3f}",
                row["measured"]["date"],
            ]
            for row in data["timings"]["rows"]
        ),
    ]


def _most(row: Row) -> float:
    """The largest |P[1] − e^−γ| within the bounds."""
    least, most = row["distance"]
    return max(-float(least), float(most))
