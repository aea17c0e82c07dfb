"""Theorems on Laplace mechanisms."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Dialogues, Published
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.grids import require_rounding, steps_apart
from checker.kinds.opaque import Opaque, OpaqueGrid
from checker.models import discrete_noise


def discrete_laplace_on_grid(certificate: Certificate) -> Conclusion:
    """Show that an answer rounded to a grid, plus discrete Laplace noise, keeps ε for every pair of answers.

    With A the rounded answer, the output is grid.value(A + N), and N is drawn by Algorithm 2 at a public scale. A moves
    by d steps at most, and e^(−d/scale) ≥ e^−ε if d/scale ≤ ε.

    Functions: `reference(answer, bits, **parameters)`. Parameters: epsilon, sensitivity, grid.
    """
    epsilon = pure_epsilon(certificate)
    require_neighbours(certificate, "answers at most the sensitivity apart")
    parameters = certificate.arguments()
    sensitivity, grid = Fraction(parameters.get("sensitivity", 1)), parameters["grid"]
    step = Fraction(2) ** grid.exponent
    distance = steps_apart(sensitivity, step)
    scale = distance / Fraction(parameters["epsilon"])
    answer = Opaque("answer")
    watched = parameters | {"grid": OpaqueGrid(grid, answer)}
    noise = Published(discrete_noise.discrete_laplace.function, lambda scale: [Opaque("noise")])  # noqa: ARG005

    def model(answer: Opaque, bits: Any) -> Any:
        return watched["grid"].value(watched["grid"].nearest(answer) + bits.call(noise, scale))

    dialogues = Dialogues()
    dialogues.same(partial(certificate.function("reference"), **watched), model, answer)
    tried = require_rounding(grid, step)
    if distance / scale > epsilon:
        raise Refused(f"{distance} steps at scale {scale} lose {distance / scale}, more than {epsilon}")
    return Conclusion(
        f"{distance / scale}-DP for every pair of answers at most {sensitivity} apart",
        ("rounding-half-up", "discrete-laplace", "loops"),
        {"runs": dialogues.runs, "runs cut off": dialogues.cut, "roundings": tried},
    )
