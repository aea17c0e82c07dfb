"""A certificate proves a claim if its checker accepts it, and nothing else does."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attacklab.certificates import Draft, certificate, to_text
from attacklab.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.errors import UsageError
from attacklab.findings import CERTIFICATE, Finding, Reach, Scope, Verdict
from attacklab.neighbours import Relation
from attacklab.proof import find_checker, prove_every_pair
from attacklab.proof.certificates import implies, run_checker
from attacklab.targets import Target
from mechanisms.laplace.exact import exact_discrete_laplace

ROOT = Path(__file__).parents[3]
ACCEPTS = "print('ACCEPTED  noisy: 1-DP for all');print('          checked 1,842 runs, 3 cells; lemmas loops, grid')"


def draft(**changes: Any) -> Draft:
    fields: dict[str, Any] = {
        "theorem": "discrete_laplace_on_grid",
        "functions": {"reference": exact_discrete_laplace},
        "parameters": {"epsilon": Fraction(1)},
        "neighbours": "answers at most the sensitivity apart",
        "claim": {"kind": "pure", "epsilon": "1"},
    }
    return Draft(**{**fields, **changes})


def noisy(made: Callable[[], Any] = draft, **rest: Any) -> Target:
    return Target.noise(lambda *_: [], **{"epsilon": 1.0, "name": "noisy", **rest}).certified(made)


@pytest.fixture
def proved(tmp_path: Path) -> Callable[..., Finding]:
    """What becomes of a target whose checker is a program of these lines."""

    def prove(lines: str, target: Target | None = None, **rest: Any) -> Finding:
        program = tmp_path / "check.py"
        program.write_text(f"import sys\n{lines}\n", "utf-8")
        return prove_every_pair(target or noisy(), checker=program, folder=tmp_path / "written", **rest)

    return prove


def test_what_the_checker_accepts_is_proved_for_every_pair(proved: Any, tmp_path: Path) -> None:
    finding = proved(ACCEPTS, spec="here:noisy --all")
    assert (finding.verdict, finding.attack, finding.target) == (Verdict.PROVED, CERTIFICATE, "noisy")
    assert finding.scope == Scope(Reach.NEIGHBOURS, neighbours="answers at most the sensitivity apart")
    assert finding.reason == "1-DP for all; checked: 1,842 runs, 3 cells; lemmas: loops, grid"
    assert finding.replay == "attacklab prove here:noisy --all"
    written = tmp_path / "written" / "noisy.json"
    assert finding.certificate is not None
    assert finding.certificate.file == written.as_posix()
    assert finding.certificate.statement == "1-DP for all"
    assert finding.certificate.lemmas == ("loops", "grid")
    assert finding.certificate.checked == "1,842 runs, 3 cells"
    assert finding.certificate.sha256 == hashlib.sha256(written.read_bytes()).hexdigest()
    assert json.loads(written.read_text("utf-8"))["claim"] == {"kind": "pure", "epsilon": "1"}
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding


def test_the_checker_of_this_project_accepts_a_true_certificate(tmp_path: Path) -> None:
    from experiments import targets

    checker = find_checker(ROOT / "docs")
    assert checker == ROOT / "checker" / "check.py"
    finding = prove_every_pair(targets.exact_randomized_response(), checker=checker, folder=tmp_path)
    assert finding.verdict is Verdict.PROVED
    assert finding.certificate is not None
    assert finding.certificate.statement.startswith("1-DP for both answers")


def test_the_checker_of_this_project_refuses_what_it_cannot_show(tmp_path: Path) -> None:
    finding = prove_every_pair(
        noisy(lambda: draft(theorem="a theorem of nobody's")), checker=find_checker(ROOT), folder=tmp_path
    )
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert 'no theorem is called "a theorem of nobody\'s"' in finding.reason


@pytest.mark.parametrize(
    ("lines", "verdict", "said"),
    [
        (
            "print('REFUSED   noisy: a cell is missing'); sys.exit(1)",
            Verdict.INCONCLUSIVE,
            "refused the certificate: a",
        ),
        ("raise RuntimeError('no memory')", Verdict.ERROR, "status 1: RuntimeError: no memory; run "),
        ("sys.exit(3)", Verdict.ERROR, "the checker ended with status 3: it said nothing"),
        ("pass", Verdict.ERROR, "the checker ended with status 0: it said nothing"),
        (f"{ACCEPTS}; sys.exit(1)", Verdict.ERROR, "the checker ended with status 1"),
        ("print('REFUSED   noisy: no')", Verdict.ERROR, "the checker ended with status 0"),
        (f"{ACCEPTS}; print('and more')", Verdict.ERROR, "the checker ended with status 0: and more"),
        ("print('ACCEPTED  noisy: 1-DP')", Verdict.ERROR, "the checker ended with status 0"),
        ("import time; time.sleep(60)", Verdict.INCONCLUSIVE, "the checker did not end in time"),
    ],
)
def test_anything_else_is_neither_a_proof_nor_a_refutation(
    lines: str, verdict: Verdict, said: str, proved: Any
) -> None:
    finding = proved(lines, seconds=1.0 if "sleep" in lines else 60.0)
    assert finding.verdict is verdict
    assert said in finding.reason
    assert not finding.refutes
    assert not finding.decides_nothing
    assert finding.certificate is not None
    assert finding.certificate.statement == ""


def raising() -> Draft:
    raise ArithmeticError("no such table")


def endless() -> Draft:
    while True:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("made", "verdict", "said"),
    [
        (raising, Verdict.ERROR, "the draft of the certificate raised ArithmeticError: no such table; mend it"),
        (lambda: draft(parameters={"grid": object()}), Verdict.ERROR, "has no form for a parameter of type object"),
        (endless, Verdict.INCONCLUSIVE, "0.5 s were not enough for the evidence"),
    ],
)
def test_a_draft_that_fails_is_told_of_and_nothing_is_written(
    made: Any, verdict: Verdict, said: str, proved: Any, tmp_path: Path
) -> None:
    finding = proved(ACCEPTS, noisy(made), seconds=0.5)
    assert finding.verdict is verdict
    assert said in finding.reason
    assert finding.certificate is None
    assert not list((tmp_path / "written").glob("*"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Target.noise(lambda *_: [], epsilon=1.0, name="bare"), "bare brings no draft of a certificate"),
        (noisy(epsilon=0.5), "claims {'kind': 'pure', 'epsilon': '1'}, and the target ε = 0.5"),
        (noisy(lambda: draft(neighbours="utilities at most 1 apart")), "calls neighbours 'utilities at most 1 apart'"),
        (noisy(sensitivity=2.0), "has another sensitivity than 2.0"),
        (noisy(lambda: {"claim": 1}), "returned a dict; let it return a Draft"),
    ],
)
def test_a_draft_that_does_not_state_what_the_target_claims_is_refused(target: Target, said: str, proved: Any) -> None:
    with pytest.raises(UsageError) as raised:
        proved(ACCEPTS, target)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("relation", "neighbours", "fits"),
    [
        (Relation.ADD_REMOVE, "add-remove", True),
        (Relation.ADD_REMOVE, "substitute", False),
        (None, "add-remove", False),
        (None, "add-remove or substitute", True),
    ],
)
def test_neighbours_of_datasets_are_those_of_the_relation(
    relation: Relation | None, neighbours: str, fits: bool, proved: Any
) -> None:
    target = Target.sum(lambda *_: [], bounds=(0, 1), epsilon=1.0, relation=relation, name="noisy")
    drafted = target.certified(lambda: draft(neighbours=neighbours))
    if fits:
        assert proved(ACCEPTS, drafted).verdict is Verdict.PROVED
    else:
        with pytest.raises(UsageError, match="calls neighbours"):
            proved(ACCEPTS, drafted)


ONE = PrivacyClaim(1.0)
TENTH = PrivacyClaim(1.0, 0.1)


@pytest.mark.parametrize(
    ("stated", "claim", "is_implied"),
    [
        ({"kind": "pure", "epsilon": "1"}, ONE, True),
        ({"kind": "pure", "epsilon": "9/10"}, ONE, True),
        ({"kind": "pure", "epsilon": "10000000000000001/10000000000000000"}, ONE, False),
        ({"kind": "pure", "epsilon": "1"}, TENTH, True),
        ({"kind": "approximate", "epsilon": "1", "delta": str(Fraction(0.1))}, TENTH, True),
        ({"kind": "approximate", "epsilon": "1", "delta": "1/9"}, TENTH, False),
        ({"kind": "approximate", "epsilon": "1", "delta": "1/10"}, ONE, False),
        ({"kind": "zcdp", "rho": "1/2"}, ZeroConcentrated(0.5), True),
        ({"kind": "zcdp", "rho": "1/2"}, ZeroConcentrated(0.25), False),
        ({"kind": "zcdp", "rho": "1/2"}, ONE, False),
        ({"kind": "gdp", "mu": "1"}, GaussianDP(1.0), True),
        ({"kind": "gdp", "mu": "2"}, GaussianDP(1.0), False),
        ({"kind": "rdp", "orders": ["2", "3"], "epsilons": ["1", "2"]}, Renyi((2.0,), (1.0,)), True),
        ({"kind": "rdp", "orders": ["3"], "epsilons": ["1"]}, Renyi((2.0,), (1.0,)), False),
        ({"kind": "rdp", "orders": ["2"], "epsilons": ["3/2"]}, Renyi((2.0,), (1.0,)), False),
        ({"kind": "profile", "points": [["0", "1/2"], ["1", "1/4"]]}, Profile(((0.0, 0.5), (1.0, 0.25))), True),
        ({"kind": "profile", "points": [["0", "1/2"]]}, Profile(((0.0, 0.5), (1.0, 0.25))), False),
        ({"kind": "profile", "points": [["0", "3/4"]]}, Profile(((0.0, 0.5),)), False),
        ({"kind": "pure"}, ONE, False),
        ({"epsilon": "1"}, ONE, False),
        ({"kind": "pure", "epsilon": "one"}, ONE, False),
    ],
)
def test_a_certificate_states_the_claim_or_a_stronger_one_of_its_kind(
    stated: dict[str, Any], claim: Claim, is_implied: bool
) -> None:
    assert implies(stated, claim) is is_implied


def test_a_folder_without_a_checker_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no checker.check\.py in .* or above it; name the checker by --che"):
        find_checker(tmp_path)


def test_a_checker_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert run_checker(tmp_path / "x.json", tmp_path / "check.py").verdict is Verdict.ERROR


def test_a_draft_must_be_callable() -> None:
    with pytest.raises(TypeError, match=r"draft must be callable as draft\(\) and return a Draft, not 3"):
        Target.noise(lambda *_: [], epsilon=1.0).certified(3)  # type: ignore[arg-type] # that is the test


def test_the_text_of_a_certificate_does_not_depend_on_what_else_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    before = to_text(certificate("noisy", draft()))
    monkeypatch.delitem(sys.modules, "mechanisms.arithmetic")
    monkeypatch.setitem(sys.modules, "mechanisms.nowhere", SimpleNamespace())  # type: ignore[misc]
    assert to_text(certificate("noisy", draft())) == before
    assert "mechanisms/arithmetic.py" in json.loads(before)["sources"]


def test_a_mechanism_in_a_file_of_its_own_has_that_file_for_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = b"def one(answer, bits):\n    return answer + bits.take(1)\n"
    (tmp_path / "lonely_mechanism.py").write_bytes(code)
    monkeypatch.syspath_prepend(tmp_path)
    lonely = importlib.import_module("lonely_mechanism")
    monkeypatch.delitem(sys.modules, "lonely_mechanism", raising=False)
    monkeypatch.setitem(sys.modules, "lonely_mechanism", lonely)
    sources = certificate("noisy", draft(functions={"reference": lonely.one}))["sources"]
    assert sources == {"lonely_mechanism.py": hashlib.sha256(code).hexdigest()}
