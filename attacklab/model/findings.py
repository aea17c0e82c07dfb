"""Findings of attacks, and their JSON: the record from which every table, page and figure is made.

Floats in inputs and outputs keep every bit: the JSON has them as `float.hex`, beside a readable value.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import itertools
import json
import math
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import Claim, PrivacyClaim, claim_from_json
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.files import read_json
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.plain_text import escaped

if TYPE_CHECKING:
    from attacklab.model.stage import Stage
    from attacklab.model.targets import Target

SCHEMA = "attacklab/2"
INFINITE = "infinite"
"""Stands for an infinite ε, because JSON has no infinity."""

LONGEST_INPUT_IN_FULL = 64
"""An array with more numbers or strings than this is recorded by its digest and its run-length encoding."""

LONGEST_REPR = 200
"""The longest repr, in characters, that is recorded for an input that is not a number or an array."""

VALUE_OF_TEXT: Mapping[str, Callable[[str], Any]] = {
    "f": float.fromhex,
    "i": int,
    "u": int,
    "b": lambda text: text == "True",
    "U": str,
}
"""For each `dtype.kind`, a function that reads a value from its recorded text: hex for floats, else `str(value)`."""


class Verdict(enum.StrEnum):
    """What is known of a claim after an attack. Nothing is called safe on samples alone."""

    VIOLATED = "violated"
    """The claim is refuted, at the stated confidence or by an exact law."""
    PROVED = "proved"
    """The claim is kept, for the scope that the finding names. If 2^−58 must be added to δ, the reason says so."""
    NOT_DETECTED = "not detected"
    """No violation was found. The finding says which advantage would have been detected."""
    INCONCLUSIVE = "inconclusive"
    """The data could not have refuted the claim. The reason says what would decide: more trials, or a proof."""
    NOT_APPLICABLE = "not applicable"
    """The attack does not apply to this kind of target."""
    ERROR = "error"
    """The target or the attack failed. The finding says which, and how."""


WORST_FIRST = (
    Verdict.VIOLATED,
    Verdict.ERROR,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_DETECTED,
    Verdict.PROVED,
    Verdict.NOT_APPLICABLE,
)
"""The verdicts by severity. Too little data is not a pass, so INCONCLUSIVE comes before NOT_DETECTED."""

FAILURE = "the target fails on one of two neighbouring inputs more often than on the other"
"""The `flaw` of a finding by any attack whose event is that the target fails."""

TOO_LITTLE = "the noise is too small for how far apart the answers of ordinary neighbours lie"
"""The `flaw` of a finding by an attack on special inputs, if ordinary inputs show the flaw too."""

ON_LATTICE = "noise on a lattice is added to an answer that does not lie on it"
"""The `flaw` of a finding by an attack on low bits, if the lattice alone tells the answers apart."""

ROUNDED = "utilities are rounded to a number format before they are compared"
"""The `flaw` of a finding on large utilities that lie between two numbers of a format, not beyond its range."""

SO_DID_EVERY_CALL = "; so did every call on either input, so nothing was tested"
"""The end of the `reason` of an ERROR finding, if every call of the target failed."""

EXACT_LAW, CERTIFICATE = "exact_law", "certificate"
"""The `attack` of a finding about a proof: by exact laws, or by a checked certificate."""


class Reach(enum.StrEnum):
    """The pairs of neighbours that a verdict covers."""

    PAIR = "this pair"
    """The pair that the finding names."""
    INPUTS = "every pair among given inputs"
    """Every pair of neighbours among the inputs of a finite domain."""
    NEIGHBOURS = "every pair of neighbours"
    """Every pair of neighbouring inputs of the mechanism."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The pairs that a proof covers.

    Attributes:
        reach: which pairs the proof covers.
        inputs: the number of inputs of the finite domain, if the proof covers one and its inputs were counted.
        pairs: the number of neighbouring pairs among these inputs.
        neighbours: what makes two inputs neighbours, in words, if a certificate says it.
    """

    reach: Reach = Reach.PAIR
    inputs: int | None = None
    pairs: int | None = None
    neighbours: str = ""

    def __str__(self) -> str:
        if self.reach is Reach.INPUTS and self.inputs is not None:
            pairs = "1 pair" if self.pairs == 1 else f"{self.pairs:,} pairs"
            return f"every pair of neighbours among {self.inputs:,} inputs ({pairs})"
        return f"{self.reach} ({self.neighbours})" if self.neighbours else str(self.reach)


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated number with confidence bounds."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of `trials`, and in how many the event holds on the `first` input, on the `second`, and on `both`."""

    first: int
    second: int
    trials: int
    both: int = 0

    @classmethod
    def of(cls, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Counts:
        """Count trials. `first` and `second` say for each trial whether the event holds on that input."""
        hits, others, both = (int(np.count_nonzero(flags)) for flags in (first, second, first & second))
        return cls(hits, others, len(first), both)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.first + other.first, self.second + other.second, self.trials + other.trials, self.both + other.both
        )


NO_COUNTS = Counts(0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What an event shows, by samples or by laws.

    Attributes:
        event: the event in words.
        code: the event as a Python expression of `output`; empty if it does not fit in one line.
        judged_at: the (ε, δ(ε)) at which the event was judged, if the claim is not an (ε, δ) claim.
        first: P[E] with its bounds.
        second: Q[E] with its bounds.
        advantage: P[E] − Q[E] with its bounds.
        ceiling: the largest advantage that the claim allows.
        epsilon_lower: a lower bound on the ε that the target really has at the claimed δ.
        delta_lower: a lower bound on the δ that the target really has at the claimed ε.
    """

    event: str = ""
    code: str = ""
    judged_at: PrivacyClaim | None = None
    first: Estimate | None = None
    second: Estimate | None = None
    advantage: Estimate | None = None
    ceiling: float = 1.0
    epsilon_lower: float | None = None
    delta_lower: float | None = None


@dataclass(frozen=True, kw_only=True)
class Samples(Shown):
    """How often an event happened among fresh outputs.

    Attributes:
        counts: the numbers of trials in which the event happened.
        answers: the number of answers that the adversary sees in one trial.
        smallest_detectable: the smallest advantage that would have been detected with probability 95 %.
        trials_needed: the number of trials that would refute the claim by this event, at the rates seen while choosing
            it; None if these rates do not contradict the claim.
        untestable: whether no feasible number of trials would decide.
    """

    counts: Counts = NO_COUNTS
    answers: int = 1
    smallest_detectable: float | None = None
    trials_needed: int | None = None
    untestable: bool = False


@dataclass(frozen=True, kw_only=True)
class Laws(Shown):
    """The exact probabilities of all outputs on both inputs.

    Attributes:
        digests: the SHA-256 digests of the two laws.
        slack: whether the claim is proved with 2^−58 added to δ.
    """

    digests: tuple[str, str]
    slack: bool = False


@dataclass(frozen=True, kw_only=True)
class Alignment(Shown):
    """The line of code at fault, found by running two inputs with the same noise, and the privacy loss.

    Attributes:
        file: the source file.
        line: the number of the line, from 1.
        source: the text of the line.
        loss: the privacy loss, in words; empty if it is not known.
        claimed: the claim, in words.
        samples: what fresh outputs show; None if none were drawn.
    """

    file: str
    line: int
    source: str = ""
    loss: str = ""
    claimed: str = ""
    samples: Samples | None = None


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """Two outputs of a stage, further apart than it claims.

    Attributes:
        outputs: the outputs on the first and the second input of the pair, with every bit of their floats.
        distance: the distance of the outputs, as a fraction; "infinite" if an output is not a number.
        claimed: the largest distance that the claim allows, as a fraction.
        apart: the distance in words.
        file: the file that defines the stage; empty if it is not known.
        line: the first line of the stage, from 1.
    """

    outputs: tuple[str, str]
    distance: str
    claimed: str
    apart: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate and the result of its checker.

    Attributes:
        file: the file of the certificate.
        sha256: the SHA-256 digest of the file.
        size: the size of the file in bytes.
        statement: what the certificate proves, in the checker's words; empty if the checker does not accept it.
        readings: the names of the files that a person must read to believe the statement.
        checked: how much was checked, in the checker's words.
    """

    file: str
    sha256: str
    size: int
    statement: str = ""
    readings: tuple[str, ...] = ()
    checked: str = ""


Evidence: TypeAlias = Samples | Laws | Alignment | Counterexample | Certificate
KINDS: Mapping[str, type[Evidence]] = {
    kind.__name__.lower(): kind for kind in (Samples, Laws, Alignment, Counterexample, Certificate)
}
"""The classes of evidence, by their names in a record."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The outcome of one attack, on one pair, on one target.

    Attributes:
        target: the name of the target.
        attack: the name of the attack.
        verdict: what is known of the claim now.
        reason: why the verdict is what it is, in one line of plain words.
        claim: the target's claim for one trial (for several answers a trial, their composition).
        pair: the two inputs, as `described_pair` returns them; None if the attack tried no pair.
        evidence: what the verdict rests on; None if nothing was examined.
        scope: the pairs that a proof covers; None for an attack.
        flaw: what a refutation of the claim by this attack shows, in one line; empty if nothing was judged.
        repair_code: a call of `exactdp` to use instead of the target, with the same claim or a stronger one; empty if
            none is known, or the claim is not refuted.
        target_version: the version of the target's implementation.
        relation: the relation of the datasets for which the claim holds; None if it holds for all relations.
        spec: the command-line words that load the target; empty if none were used.
        alpha: the probability of a false alarm in this finding if the claim is true.
        seed: the seed of all randomness.
        trials: the number of outputs drawn from both inputs, for choosing the event and for judging it.
        seconds: the time taken, in seconds.
        replay: the line of code or shell that replays the finding.
    """

    target: str
    attack: str
    verdict: Verdict
    reason: str
    claim: Claim
    pair: dict[str, Any] | None = None
    evidence: Evidence | None = None
    scope: Scope | None = None
    flaw: str = ""
    repair_code: str = ""
    target_version: str = ""
    relation: Relation | None = None
    spec: str = ""
    alpha: float | None = None
    seed: int | None = None
    trials: int = 0
    seconds: float = 0.0
    replay: str = ""

    @classmethod
    def on(cls, target: Target | Stage, attack: str, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        """Make a finding on a target. `rest` holds other fields; claim and relation default to the target's own."""
        rest = {"claim": target.claim, "relation": target.relation, "target_version": target.version, **rest}
        return cls(target=target.name, attack=attack, verdict=verdict, reason=reason, **rest)

    @property
    def samples(self) -> Samples | None:
        """The evidence if it is `Samples`, or the samples of an `Alignment`; else None."""
        evidence = self.evidence.samples if isinstance(self.evidence, Alignment) else self.evidence
        return evidence if isinstance(evidence, Samples) else None

    @property
    def shown(self) -> Shown:
        """The evidence from an event; an empty `Shown` if no event was judged."""
        return self.samples or (self.evidence if isinstance(self.evidence, Shown) else Shown())

    @property
    def refutes(self) -> bool:
        """Whether the finding refutes the claim."""
        return self.verdict is Verdict.VIOLATED

    @property
    def is_note(self) -> bool:
        """Whether the finding only reports how the target fails on inputs outside its claim."""
        return self.verdict is Verdict.NOT_APPLICABLE and self.evidence is not None

    @property
    def is_untestable(self) -> bool:
        """Whether no feasible number of trials can decide on the event."""
        return self.samples is not None and self.samples.untestable

    @property
    def decides_nothing(self) -> bool:
        """Whether the finding is inconclusive and no trials can decide it. It is False for a search for a proof."""
        is_open = self.verdict is Verdict.INCONCLUSIVE and not self.is_proof
        return is_open and (self.samples is None or self.samples.untestable)

    @property
    def is_proof(self) -> bool:
        """Whether the finding is from a search for a proof, not for a flaw."""
        return self.attack in (EXACT_LAW, CERTIFICATE)

    @property
    def verdict_in_scope(self) -> str:
        """The verdict in words, with its scope if it is a proof."""
        if self.scope is None or self.verdict is not Verdict.PROVED:
            return str(self.verdict)
        return f"{self.verdict} for {self.scope}"

    def __str__(self) -> str:
        return f"{self.target}: {self.attack}: {self.verdict_in_scope}: {self.reason}"

    @property
    def judged(self) -> PrivacyClaim:
        """The (ε, δ) at which the event was judged."""
        return self.shown.judged_at or self.claim.nominal

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON values, without fields at their defaults."""
        stored: dict[str, Any] = _stored(self)
        return stored

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """Read a finding from the JSON values of `to_json`. Missing fields take their defaults.

        Raises:
            ValueError: a field without a default is missing, or a field is unknown or malformed.
        """
        try:
            finding = cls(**_read_fields(data))
            for name in ("target", "attack", "reason", "target_version", "spec", "replay"):
                if not isinstance(getattr(finding, name), str):
                    raise TypeError(f"{name} must be a text, not {getattr(finding, name)!r}")
            return finding
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise UsageError(f"not a finding: {error}") from error


def _stored(value: Any) -> Any:
    """Return the value of a field, or a whole finding, as plain JSON values."""
    if isinstance(value, Claim):
        return value.to_json()
    if value == math.inf:
        return INFINITE
    if not is_dataclass(value):
        return value
    kind = type(value).__name__.lower()
    kept = {field.name: getattr(value, field.name) for field in fields(value)}
    kept = {field.name: kept[field.name] for field in fields(value) if kept[field.name] != field.default}
    return ({"kind": kind} if kind in KINDS else {}) | {name: _stored(part) for name, part in kept.items()}


def _read_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a finding, or of a part of it, from their JSON values."""
    return {name: _READERS[name](value) if name in _READERS else value for name, value in data.items()}


def _read_evidence(data: Mapping[str, Any]) -> Evidence:
    rest = dict(data)
    kind = KINDS[rest.pop("kind")]
    return kind(**_read_fields(rest))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "verdict": Verdict,
    "claim": claim_from_json,
    "judged_at": claim_from_json,
    "relation": Relation,
    "evidence": _read_evidence,
    "samples": _read_evidence,
    "counts": lambda data: Counts(**data),
    "scope": lambda data: Scope(**data | {"reach": Reach(data.get("reach", Reach.PAIR))}),
    "epsilon_lower": lambda data: math.inf if data == INFINITE else data,
    **dict.fromkeys(("digests", "outputs", "readings"), tuple),
    **dict.fromkeys(("first", "second", "advantage"), lambda data: Estimate(**data)),
}
"""For each field that is not a plain JSON value, the function that reads it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an audit. `findings` holds the findings so far."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__()
        self.findings = findings


def decisive(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with the worst verdict, which stand for all.

    Findings that decide nothing count only if all other findings are NOT_APPLICABLE.

    Args:
        findings: the findings of one attack, one target or one test.

    Returns:
        Some of the findings, all with one verdict; empty only if `findings` is.
    """
    decided = [finding for finding in findings if not finding.decides_nothing]
    left = [finding for finding in decided if finding.verdict is not Verdict.NOT_APPLICABLE] or findings
    worst = min((finding.verdict for finding in left), key=WORST_FIRST.index, default=None)
    return [finding for finding in left if finding.verdict is worst]


def described_pair(pair: NeighbouringPair) -> dict[str, Any]:
    """Return a pair as plain JSON values that keep every bit of its floats."""
    return {
        "relation": pair.relation and str(pair.relation),
        "first": _described_input(pair.first),
        "second": _described_input(pair.second),
    }


def lower_text(bound: float, digits: int = 3) -> str:
    """Return a lower bound as text, rounded down to `digits` significant digits."""
    return _rounded(bound, digits, ROUND_FLOOR)


def upper_text(bound: float, digits: int = 3) -> str:
    """Return an upper bound as text, rounded up to `digits` significant digits."""
    return _rounded(bound, digits, ROUND_CEILING)


def environment() -> dict[str, str]:
    """Return what findings depend on besides the target: versions, and the types of machine and system."""
    return {
        "attacklab": _version("attacklab"),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "gmpy2")},
        "machine": platform.machine(),
        "system": sys.platform,
    }


@functools.cache
def _version(distribution: str) -> str:
    """Return the version of an installed package. It is cached, because a target may later change `sys.path`."""
    return metadata.version(distribution)


def record(findings: Sequence[Finding], **rest: Any) -> dict[str, Any]:
    """Return the JSON record of findings. `rest` holds other entries, such as measurements."""
    return {
        "schema": SCHEMA,
        "environment": environment(),
        "findings": [finding.to_json() for finding in findings],
        **rest,
    }


def read_record(path: Path) -> dict[str, Any]:
    """Read a JSON record, and return it with its findings as `Finding` objects.

    Raises:
        ValueError: it is not a record of a known schema. The message names the file.
    """
    data = read_json(path)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UsageError(f"{path} is not a record of schema {SCHEMA}")
    try:
        return {**data, "findings": list(map(Finding.from_json, data["findings"]))}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} holds a malformed finding: {error}") from error


def to_text(data: Mapping[str, Any], *, indent: int | None = 1) -> str:
    """Return the JSON text of a record. Raise ValueError for NaN and infinities, which JSON does not have.

    Characters that do not print, and could control a terminal that shows the file, are escaped.
    """
    between = None if indent else (",", ":")
    text = json.dumps(data, indent=indent, separators=between, ensure_ascii=False, allow_nan=False, default=_plain)
    text += "\n"
    return escaped(text, "\n", json.dumps)


def _described_input(value: Any) -> dict[str, Any]:
    has_type = hasattr(value, "__array__") or isinstance(value, int | float)  # lists, tuples and strings stay such
    array = np.asarray(value) if has_type else np.empty((), dtype=object)
    described: dict[str, Any] = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype == object:
        return described | _described_object(value, array.ndim)
    if array.size > LONGEST_INPUT_IN_FULL:
        kind = array.dtype.kind
        if kind in VALUE_OF_TEXT and (kind == "U" or array.dtype.itemsize <= 8):
            texts = map(float.hex if kind == "f" else str, array.ravel().tolist())
            described["runs"] = [[len(list(run)), text] for text, run in itertools.groupby(texts)]
        return {**described, "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}
    if array.dtype.kind == "f":
        described["hex"] = [float(number).hex() for number in array.ravel()]
    return {**described, "readable": [str(number) for number in array.ravel()]}


def _described_object(value: Any, dimensions: int) -> dict[str, Any]:
    content = repr(value)
    readable = {"readable": [content]} if dimensions == 0 and len(content) <= LONGEST_REPR else {}
    literal = repr(value.tolist()) if isinstance(value, np.ndarray) else content
    exact = {"literal": literal} if _is_literal(literal) else {}
    return {**readable, **exact, "sha256": hashlib.sha256(content.encode()).hexdigest()}


class _Numbers(ast.NodeTransformer):
    """Turns what `repr` writes for NaN, for infinities and for numbers of numpy into constants of a literal."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        dtype = np.dtype(getattr(node.func, "attr", "O"))
        values = [ast.literal_eval(self.visit(value)) for value in node.args]
        return ast.Constant(dtype.type(*values)) if dtype.kind in VALUE_OF_TEXT else node


def _from_literal(text: str) -> Any:
    return ast.literal_eval(_Numbers().visit(ast.parse(text, mode="eval")))


def _is_literal(text: str) -> bool:
    """Whether a text is a Python literal with this very repr."""
    try:
        return repr(_from_literal(text)) == text
    except (TypeError, ValueError, OverflowError, SyntaxError, MemoryError, RecursionError):
        return False


def recovered_pair(described: Mapping[str, Any]) -> NeighbouringPair:
    """Return the pair that `described_pair` described, with every bit.

    Raises:
        UsageError: the description has only the digest of an input, not its values.
    """
    first, second = (_recovered_input(described[side]) for side in ("first", "second"))
    return NeighbouringPair(first, second, described["relation"] and Relation(described["relation"]))


def _recovered_input(described: Mapping[str, Any]) -> Any:
    if "literal" in described:
        return _from_literal(described["literal"])
    dtype = np.dtype(described["dtype"])
    runs = described.get("runs") or [[1, text] for text in described.get("hex", described.get("readable", ()))]
    if dtype.kind not in VALUE_OF_TEXT or sum(count for count, _ in runs) != math.prod(described["shape"]):
        raise UsageError("a finding has the digest of an input, not its values; make it again, or give the pair itself")
    values = [VALUE_OF_TEXT[dtype.kind](text) for count, text in runs for _ in range(count)]
    array = np.array(values, dtype=dtype).reshape(described["shape"])
    return array if array.ndim else array.item()


def recorded_pairs(path: Path) -> tuple[NeighbouringPair, ...]:
    """Return the pairs on which a record refutes claims, each once.

    Raises:
        UsageError: the file is not a record, refutes no claim, or lacks the values of a pair.
    """
    findings = read_record(path)["findings"]
    refuted = [finding.pair for finding in findings if finding.verdict is Verdict.VIOLATED and finding.pair]
    if not refuted:
        raise UsageError(f"{path} refutes no claim on a pair; name the record of an audit that did")
    distinct = {json.dumps(pair, sort_keys=True): pair for pair in refuted}
    try:
        return tuple(map(recovered_pair, distinct.values()))
    except (KeyError, TypeError, ValueError, OverflowError, SyntaxError) as error:
        raise UsageError(f"{path} holds a pair that cannot be read: {error}") from error


def _rounded(bound: float, digits: int, rounding: str) -> str:
    with localcontext(prec=digits, rounding=rounding):
        return f"{float(+Decimal(repr(float(bound)))) + 0.0:.{digits}g}"  # −0.0 + 0.0 is 0.0


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise UsageTypeError(f"findings in JSON cannot hold a {type(value).__name__}; use numbers, strings and lists")
