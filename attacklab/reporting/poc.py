"""Proofs of concept: a finding as one short Python script, which draws fresh outputs and counts those in the event.

If the event can be written as a line of Python, the script has that line; else the attack finds it again by the seed.
"""

import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks import ALL_ATTACKS, sized
from attacklab.attacks.failures import FAILS
from attacklab.auditing.drawing import Draws
from attacklab.auditing.judge import found_scenarios
from attacklab.auditing.ordinary import best
from attacklab.auditing.statistics.betting import evidence
from attacklab.auditing.statistics.choosing import trials_needed
from attacklab.auditing.statistics.reasons import counted, odds_text
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import LabError, Refused, UsageError
from attacklab.model.findings import Counts, Finding, Verdict, described_pair, recovered_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.plain_text import escaped
from attacklab.model.targets import Failure, Outputs, Target
from attacklab.reporting.wording import claim_text, repair_text

ALPHA = 1e-9  # the probability of a false alarm, were the claim true
MOST = 1_000_000  # outputs of either input
Contains: TypeAlias = Callable[[Outputs], NDArray[np.bool_]]

SCRIPT = """{heading}

import sys
from math import inf, nan
import numpy as np
from attacklab.cli.target_options import TargetOptions
from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.poc import Imported, of_each, shown

PAIR = {pair}
CLAIM = PrivacyClaim({claim})
# E, the event: {event}
EVENT = {code}

if __name__ == "__main__":
    load = lambda words: TargetOptions.of_spec(words or {spec!r}).beside(__file__).load()  # as an audit does
    sys.exit(shown(load, PAIR, EVENT, CLAIM, trials={trials}, answers={answers}))
"""


def chosen_finding(findings: Sequence[Finding], attack: str | None = None) -> Finding:
    """Return the best finding that refutes a claim and that a script can show, by `attack` if that is set."""
    violated = [finding for finding in findings if finding.verdict is Verdict.VIOLATED]
    named = [finding for finding in violated if attack in (None, finding.attack)]
    able = [finding for finding in named if finding.spec and finding.pair and (finding.samples or finding.shown.code)]
    if not able:
        raise UsageError(
            f"no script can be written{f' for {attack}' if attack else ''}: {len(violated)} of {len(findings)} "
            "findings refute a claim, and a script needs one with a pair, an event and the name of a target; "
            "write the findings with attacklab audit --json"
        )
    return best(able) or able[0]


def proof_of_concept(finding: Finding) -> str:
    """Return a Python script that draws outputs for both inputs and says whether the event still breaks the claim."""
    pair, judged, found = recovered_pair(finding.pair or {}), finding.judged, finding.shown
    answers = finding.samples.answers if finding.samples else 1
    p, q = (side.estimate if side else 0.0 for side in (found.first, found.second))
    needed = trials_needed(judged, p, q, ALPHA)
    if needed is None or needed * answers > MOST:
        seen = f"the rates that {finding.attack} saw, {p:.3g} and {q:.3g}, are too rare to be seen again"
        raise UsageError(f"{seen}; name another attack with --attack")
    said = re.search(r"--trials (\d+)", finding.replay)
    code = repr(Imported(finding.attack, found.event, finding.seed or 0, int(said[1]) if said else None))
    if found.code and answers == 1:
        code = f"of_each(lambda output: {found.code})"
    heading = [
        f"Proof of concept: {finding.target} does not keep its claim of {claim_text(finding)}: {finding.flaw}.",
        f"Found: {finding.reason}. The usual repair: {repair_text(finding) or 'unknown'}.",
        f"The claim: P[E on one input] <= e^{judged.epsilon!r} * P[E on the other] + {judged.delta!r} for every set E.",
        "Words behind this script's name load another target. Status 1: broken here too; 0: not shown; 2: an error.",
    ]
    script = SCRIPT.format(
        heading="\n".join(f"# {line}" for text in heading for line in textwrap.wrap(text, 98)),
        pair=", ".join(map(_literal, (pair.first, pair.second))),
        event=" ".join(found.event.split()),
        code=code,
        claim=f"{judged.epsilon!r}, {judged.delta!r}",
        spec=finding.spec,
        trials=min(MOST // answers, 4 * needed),
        answers=answers,
    )
    return escaped(script, "\n\t", ascii)


def _literal(value: Any) -> str:
    return f"np.array({value.tolist()!r}, dtype={str(value.dtype)!r})" if isinstance(value, np.ndarray) else repr(value)


@dataclass(frozen=True)
class Imported:
    """An event that a script cannot write in Python: its description, and the attack, seed and trials that found it."""

    attack: str
    event: str
    seed: int
    trials: int | None

    def of(self, target: Target, first: Any, second: Any) -> Contains:
        """Run the attack again on a target and two inputs. Return the function that tests outputs for the event."""
        if self.event == FAILS.description:
            return FAILS.contains
        (attack,) = (sized(attack, self.trials or MOST) for attack in ALL_ATTACKS if attack.name == self.attack)
        pair = NeighbouringPair(first, second, None)
        wanted = [described_pair(either) for either in (pair, pair.swapped())]
        events = [
            event
            for scenario in found_scenarios(Draws(target), attack, self.seed)[0]
            if described_pair(replace(scenario.pair, relation=None)) in wanted
            for event in scenario.events
        ]
        # A target that makes its own random numbers may show another event of this pair than the one that was named.
        event = min(events, key=lambda event: event.description != self.event, default=None)
        if event is None:
            raise UsageError(f"{self.attack} does not find this event again; audit the target anew")
        return event.contains


def of_each(event: Callable[[Any], Any]) -> Contains:
    """Return a test of many outputs from a test of one output. A failure is never in the event."""
    return lambda outputs: np.array(
        [output is not None and not isinstance(output, Failure) and bool(event(output)) for output in outputs], bool
    )


def shown(
    load: Callable[[str], Target], pair: tuple[Any, Any], event: Any, claim: PrivacyClaim, trials: int, answers: int
) -> int:
    """Draw outputs, count those in the event and print the result, for a script. Return its exit status."""
    rng = np.random.default_rng(1)

    def held(input_: Any, *, alone: bool) -> NDArray[np.bool_]:
        outputs = target.outputs(input_, trials * answers, rng, sees_failures=alone)
        return contains(outputs.reshape(trials, answers, *outputs.shape[1:]) if answers > 1 else outputs)

    try:
        contains = event.of(load(""), *pair) if isinstance(event, Imported) else event
        target = load(" ".join(sys.argv[1:2]))
        try:
            rows = [held(input_, alone=False) for input_ in pair]
        except Refused:  # some outputs are failures: each is drawn in a call of its own then
            rows = [held(input_, alone=True) for input_ in pair]
    except LabError as error:
        print(error, file=sys.stderr)
        return 2
    counts = Counts.of(*rows)
    leaks = (odds := evidence(claim, counts)) >= -np.log(ALPHA)
    print(f"{counted(counts, fails=False)}; odds of {odds_text(odds)} to 1 against the claim, {claim}")
    print("BROKEN: the claim does not hold." if leaks else "These outputs do not show that the claim is broken.")
    return int(leaks)
