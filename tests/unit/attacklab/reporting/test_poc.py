"""Scripts of findings: whatever is seen together, of many outputs or the opposite, a script counts what it says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from attacklab.model.claims import PrivacyClaim, ZeroConcentrated
from attacklab.model.findings import Counts, EventCode
from attacklab.reporting.poc import Call, proof_of_concept
from attacklab.reporting.poc.choice import direction_and_trials
from tests.unit.attacklab.test_findings import FULL

SOURCES = {
    True: "import numpy as np\n\n\ndef events(outputs):\n    return np.array([np.all(one > 0.5) for one in outputs])\n",
    False: "import math\n\n\ndef event(output):\n    return math.inf > np.min(output) > 0.5\n",
}
CALLS = (
    Call("numpy:laplace"),
    Call(None, program=("./noise",), kind="noise"),
    Call("a.py:it"),
    Call("m:f", kind="sum"),
)
FLAGS = (True, False)


def release(value: float, count: int, rng: np.random.Generator) -> Any:
    return value + rng.normal(size=count)


def test_a_script_counts_the_trials_whose_outputs_lie_in_the_event_or_do_not() -> None:
    calls = itertools.cycle((*CALLS, CALLS[0]))  # five, so that no call goes with one way of the others alone
    for answers, of_many, rare, of_first in itertools.product((1, 3), FLAGS, FLAGS, FLAGS):
        seen = (10, 190) if rare is of_first else (190, 10)
        finding = replace(
            FULL,
            answers=answers,
            code=EventCode(source=SOURCES[of_many], of_many=of_many),
            counts=Counts(*seen, 200),
            claim=ZeroConcentrated(0.1),
            judged_at=PrivacyClaim(0.25, 1e-3),
        )
        script: dict[str, Any] = {"__name__": "script"}
        exec(compile(proof_of_concept(finding, next(calls)), "script.py", "exec", dont_inherit=True), script)  # noqa: S102 - this is the script
        assert (script["EPSILON"], script["DELTA"], script.get("ANSWERS", 1)) == (0.25, 1e-3, answers)
        script["TRIALS"] = 200
        counted = {script["hits"](release, script["INPUT"], np.random.default_rng(1), alone) for alone in (True, False)}
        outputs = release(script["INPUT"], 200 * answers, np.random.default_rng(1)).reshape(200, answers)
        lie_in = int((outputs > 0.5).all(axis=1).sum())
        assert counted == {200 - lie_in if direction_and_trials(finding)[0].complement else lie_in}
