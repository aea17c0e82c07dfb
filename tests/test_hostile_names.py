"""A target whose name, pairs and outputs hold control characters steers nothing that shows or copies its findings."""

import json
from typing import Any

import numpy as np
import pytest

from attacklab import BlackBox, Finding, NeighbouringPair, Relation, Target
from attacklab.auditing.referee import audit
from attacklab.model.findings import record, to_text
from attacklab.reporting.poc import proof_of_concept

STEERING = "\x1b[31m\u202e\u2066\x9b2J\x07\r\u2028"
NAME = f"evil{STEERING}name"
KEYS = tuple(np.str_(f"key{STEERING}{number}") for number in range(3))


def release(records: list[str], trials: int, rng: np.random.Generator) -> list[Any]:
    """Dicts and sets of steering names, which tell how many records there are."""
    kept = 3 if len(records) > 1 else 2
    return [
        {key: float(rng.integers(2)) for key in KEYS[:kept]} | {"set": frozenset(KEYS[:kept])} for _ in range(trials)
    ]


@pytest.fixture(scope="module")
def found() -> Finding:
    pair = NeighbouringPair([NAME], [NAME, NAME], Relation.ADD_REMOVE)
    target = Target.dataset(release, epsilon=0.5, pairs=[pair], name=NAME, relation=Relation.ADD_REMOVE)
    spec = f"'evil{STEERING}.py:it' --kind dataset --epsilon 0.5"
    return next(one for one in audit(target, [BlackBox()], trials=400, spec=spec) if one.refutes)


def steers(text: str) -> list[str]:
    return [one for one in text if not one.isprintable() and one != "\n"]


def test_a_script_made_of_somebody_elses_json_runs_and_steers_nothing(found: Finding) -> None:
    (read,) = json.loads(to_text(record([found])))["findings"]
    read["evidence"] |= {"code": 'output == "\u202e"', "event": STEERING}
    read["flaw"] = read["reason"] = read["spec"] = STEERING
    script = proof_of_concept(Finding.from_json(read))
    assert not steers(script)
    module: dict[str, Any] = {"__name__": "script"}
    exec(compile(script, "script.py", "exec", dont_inherit=True), module)  # noqa: S102 - this is the script
    assert module["EVENT"](["\u202e", "u"]).tolist() == [True, False]
    assert [list(side) for side in module["PAIR"]] == [[NAME], [NAME, NAME]]
