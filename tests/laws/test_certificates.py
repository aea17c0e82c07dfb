"""A certificate proves a claim if its checker accepts it, and nothing else does."""

import hashlib
import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacklab.laws.proof import prove_every_pair
from attacklab.laws.proof.certificates import implies, require_same_claim
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated
from attacklab.model.domains import Domain, Pattern, Queries, Records, Streams
from attacklab.model.errors import UsageError
from attacklab.model.findings import CERTIFICATE, Finding, Reach, Scope, Verdict
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Target
from mechanisms.core.certificate import certificate
from tests.checker.making import ANSWER, MONOTONE, TERMS, UTILITIES

ACCEPTS = "print('ACCEPTED  noisy: 1-DP for all');print('          checked 12 cells of tables; readings grid, noise')"
ONE_DP = {"is": "ApproximateDP", "epsilon": {"rational": "1"}, "delta": {"rational": "0"}}


def stated(**changes: Any) -> dict[str, Any]:
    """A certificate as the lab sees it."""
    return {"claim": ONE_DP, "relation": "answers", "term": {"query": {"sensitivity": {"rational": "1"}}}, **changes}


def noisy(made: Callable[[], Any] = stated, **rest: Any) -> Target:
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
    assert finding.scope == Scope(Reach.NEIGHBOURS, neighbours="answers")
    assert finding.reason == "1-DP for all; checked: 12 cells of tables; its code is as it was read"
    assert finding.replay == "attacklab prove here:noisy --all"
    written = tmp_path / "written" / "noisy.json"
    assert (finding.evidence.file, finding.evidence.statement) == (written.as_posix(), "1-DP for all")
    assert (finding.evidence.readings, finding.evidence.checked) == (("grid", "noise"), "12 cells of tables")
    assert finding.evidence.sha256 == hashlib.sha256(written.read_bytes()).hexdigest()
    assert json.loads(written.read_text("utf-8"))["claim"] == ONE_DP
    assert Finding.from_json(json.loads(json.dumps(finding.to_json()))) == finding


@pytest.mark.parametrize(
    ("lines", "verdict", "said"),
    [
        ("print('REFUSED   noisy: no cell'); sys.exit(1)", Verdict.INCONCLUSIVE, "refused the certificate: no cell"),
        ("raise RuntimeError('no memory')", Verdict.ERROR, "status 1: RuntimeError: no memory; run "),
        ("sys.exit(3)", Verdict.ERROR, "the checker ended with status 3: it said nothing"),
        ("print('REFUSED   noisy: no')", Verdict.ERROR, "the checker ended with status 0"),
        (f"{ACCEPTS}; print('and more')", Verdict.ERROR, "the checker ended with status 0: and more"),
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
    assert finding.evidence.statement == ""


def raising() -> None:
    raise ArithmeticError("no such table")


def endless() -> None:
    while True:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("made", "verdict", "said"),
    [
        (raising, Verdict.ERROR, "making the certificate raised ArithmeticError: no such table; fix what makes it"),
        (lambda: stated(term=object()), Verdict.ERROR, "Object of type object is not JSON serializable"),
        (endless, Verdict.INCONCLUSIVE, "0.5 s were not enough to make the certificate; allow more by --seconds"),
    ],
)
def test_a_certificate_that_cannot_be_made_is_told_of_and_nothing_is_written(
    made: Any, verdict: Verdict, said: str, proved: Any, tmp_path: Path
) -> None:
    finding = proved(ACCEPTS, noisy(made), seconds=0.5)
    assert finding.verdict is verdict
    assert said in finding.reason
    assert finding.evidence is None
    assert not list((tmp_path / "written").glob("*"))


def of(term: str, relation: str = "answers", **claim: Any) -> Callable[[], dict[str, Any]]:
    """The certificate of a term without its tables, which says something of its own of its neighbours and claim."""
    true = certificate(term, TERMS[term])
    return lambda: {**true, "relation": relation, "claim": {**ONE_DP, **claim}, "tables": []}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Target.noise(lambda *_: [], epsilon=1.0, name="bare"), "bare has no certificate for every pair of neighb"),
        (noisy(epsilon=0.5), "but the target claims ε = 0.5; claim what is proved, or certify what"),
        (noisy(of("discrete_laplace", "utilities")), "is about utilities, but the neighbours of the target are an"),
        (noisy(of("discrete_laplace"), sensitivity=1.5), "smaller moves than the target's sensitivity, 1.5"),
        (noisy(of("counts"), sensitivity=1.5), "smaller moves than the target's sensitivity, 1.5"),
        (noisy(lambda: {"claim": 1}), "is a dict without a claim and a relation; return what mechanisms.core"),
    ],
)
def test_a_certificate_that_does_not_state_what_the_target_claims_is_refused(
    target: Target, said: str, proved: Any, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        proved(ACCEPTS, target)
    assert said in str(raised.value)
    assert not list((tmp_path / "written").glob("*"))


def test_utilities_that_move_in_one_direction_only_are_not_those_of_a_target() -> None:
    assert ANSWER.sensitivity == Fraction(5, 4)
    target = Target.selection(lambda *_: [], epsilon=1.0, sensitivity=float(UTILITIES.sensitivity) - 1e-9)
    require_same_claim(target, of("noisy_max", "utilities")())
    assert MONOTONE.monotone
    with pytest.raises(UsageError, match="smaller moves than the target's"):
        require_same_claim(target, of("permute", "utilities")())


def of_sums(**rest: Any) -> Target:
    return Target.sum(lambda *_: [], bounds=(0, 1), epsilon=1.0, **rest)


def of_datasets(**rest: Any) -> Target:
    return Target.dataset(lambda *_: [], epsilon=1.0, **rest)


RECORDS, STREAMS = Domain(shape=Records(), bounds=(0, 1)), Domain(shape=Streams(length=3), bounds=(0, 1))
EITHER = "add-remove or substitute"


@pytest.mark.parametrize(
    ("target", "fitting", "other"),
    [
        (of_sums(relation=Relation.ADD_REMOVE), ["add-remove", EITHER], ["substitute", "answers", "", None]),
        (of_sums(relation=Relation.SUBSTITUTE), ["substitute", EITHER], ["add-remove", "answers"]),
        (of_sums(), [EITHER], ["add-remove", "substitute", "answers"]),
        (of_datasets(relation=Relation.ADD_REMOVE), ["add-remove", EITHER], ["substitute", "bit"]),
        (of_datasets(relation=Relation.NODE), ["node"], ["add-remove", EITHER]),
        (of_datasets(domain=RECORDS), [EITHER], ["add-remove", "substitute"]),
        (of_datasets(domain=STREAMS), ["substitute", EITHER], ["add-remove"]),
        (of_datasets(), ["bit", "answers", "add-remove", EITHER], [None]),
    ],
)
def test_neighbours_of_datasets_are_those_of_the_relation(target: Target, fitting: list[str], other: list[str]) -> None:
    for relation in fitting:
        require_same_claim(target, stated(relation=relation))
    for relation in other:
        with pytest.raises(UsageError, match=f"is about {relation}, but the neighbours of the target are"):
            require_same_claim(target, stated(relation=relation))


def test_queries_move_no_further_than_the_certificate_says() -> None:
    for sensitivity, fits in ((1.0, True), (1.5, False)):
        shape = Queries(size=2, sensitivity=sensitivity, patterns=(Pattern.ALL,))
        target = of_datasets(domain=Domain(shape=shape))
        if fits:
            require_same_claim(target, of("threshold")())
        else:
            with pytest.raises(UsageError, match=r"target's sensitivity, 1\.5"):
                require_same_claim(target, of("threshold")())


ONE = PrivacyClaim(1.0)
TENTH = PrivacyClaim(1.0, 0.1)
TENTH_UP = Fraction(0.1)
TWO = Profile(((0.0, 0.5), (1.0, 0.25)))


def approximate(epsilon: object, delta: object = 0) -> dict[str, Any]:
    return {"is": "ApproximateDP", "epsilon": {"rational": str(epsilon)}, "delta": {"rational": str(delta)}}


def profile(*points: tuple[object, object]) -> dict[str, Any]:
    return {"is": "ProfileDP", "points": [approximate(*point) for point in points]}


def zcdp(rho: str) -> dict[str, Any]:
    return {"is": "ZeroConcentratedDP", "rho": {"rational": rho}}


def rdp(alpha: str, epsilon: str) -> dict[str, Any]:
    return {"is": "RenyiDP", "alpha": {"rational": alpha}, "epsilon": {"rational": epsilon}}


def gdp(mu_squared: str) -> dict[str, Any]:
    return {"is": "GaussianDP", "mu_squared": {"rational": mu_squared}}


@pytest.mark.parametrize(
    ("claimed", "claim", "is_implied"),
    [
        (approximate("1"), ONE, True),
        (approximate("10000000000000001/10000000000000000"), ONE, False),
        (approximate("1", TENTH_UP), TENTH, True),
        (approximate("1", "1/9"), TENTH, False),
        (approximate("1", "1/10"), ONE, False),
        (profile(("1/2", "1/5"), ("1", "1/20")), TENTH, True),
        (zcdp("1/2"), ZeroConcentrated(0.5), True),
        (zcdp("1/2"), ZeroConcentrated(0.25), False),
        (approximate("1"), ZeroConcentrated(0.5), True),
        (approximate("1"), ZeroConcentrated(0.49), False),
        (approximate("1", "1/10"), ZeroConcentrated(0.5), False),
        (gdp("1"), GaussianDP(1.0), True),
        (gdp("2"), GaussianDP(1.0), False),
        (approximate("1"), GaussianDP(9.0), False),
        (rdp("3", "1"), Renyi((2.0, 3.0), (1.0, 1.0)), True),
        (rdp("3", "1"), Renyi((2.0, 4.0), (1.0, 2.0)), False),
        (zcdp("1/2"), Renyi((2.0, 3.0), (1.0, 1.5)), True),
        (zcdp("1/2"), Renyi((2.0, 3.0), (1.0, 1.4)), False),
        (approximate("1"), Renyi((1.5, 8.0), (0.75, 1.0)), True),
        (approximate("1"), Renyi((1.5, 8.0), (0.7, 1.0)), False),
        (profile((0, "1/2"), (1, "1/4")), TWO, True),
        (profile(("0", "1/2")), TWO, False),
        (approximate("1/2", "1/4"), TWO, False),
        (profile(), ONE, False),
        (approximate("1") | {"is": "Pure"}, ONE, False),
        ({"is": "ApproximateDP"}, ONE, False),
        (approximate("1/0"), ONE, False),
        ("1-DP", ONE, False),
    ],
)
def test_a_certificate_states_the_claim_or_a_stronger_one(claimed: Any, claim: Claim, is_implied: bool) -> None:
    assert implies(claimed, claim) is is_implied
