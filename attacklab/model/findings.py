"""What an attack found, and its JSON: the record from which every table, page and figure is drawn.

Floats that are somebody's input or output keep every bit: in JSON they stand as `float.hex` beside a readable value.
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
"""Stands for an infinite ε, which JSON has no number for."""

LONGEST_INPUT_IN_FULL = 64
"""A longer input is recorded by its digest, and by its runs: each value with how often it repeats in a row."""

LONGEST_REPR = 200
"""An input that is neither a number, a string nor an array of them is shown by a repr so short."""

TEXT_OF_KIND: Mapping[str, Callable[[Any], str]] = {"f": float.hex, "i": str, "u": str, "b": str, "U": str}
VALUE_OF_TEXT: Mapping[str, Callable[[str], Any]] = {
    "f": float.fromhex,
    "i": int,
    "u": int,
    "b": lambda text: text == "True",
    "U": str,
}
"""What a value is in a record, by its numpy kind: text that keeps every bit, and back."""


class Verdict(enum.StrEnum):
    """What is known of a claim after an attack. Nothing is called safe on samples alone."""

    VIOLATED = "violated"
    """The claim is refuted, at the stated confidence or by an exact law."""
    PROVED = "proved"
    """The claim is kept, for the scope that the finding names. If 2^−58 must be added to δ, the reason says so."""
    NOT_DETECTED = "not detected"
    """Nothing was found; the finding says which advantage would have been detected."""
    INCONCLUSIVE = "inconclusive"
    """Nothing could have refuted the claim; the reason says what would decide: more trials, or a proof."""
    NOT_APPLICABLE = "not applicable"
    """The attack does not apply to this kind of target."""
    ERROR = "error"
    """The target failed, or the attack did; the finding says which, and how."""


WORST_FIRST = (
    Verdict.VIOLATED,
    Verdict.ERROR,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_DETECTED,
    Verdict.PROVED,
    Verdict.NOT_APPLICABLE,
)
"""The one order of severity: too little data is not a pass, so it outranks what was looked at and not detected."""

FAILURE = "the target fails on one of two neighbouring inputs more often than on the other"
"""The flaw that a bet on failure shows, whatever its attack looks for."""

TOO_LITTLE = "the noise is too small for how far apart the answers of ordinary neighbours lie"
"""The flaw that is shown by an attack on special inputs, where other inputs show as much."""

ON_LATTICE = "noise on a lattice is added to an answer that does not lie on it"
"""The flaw that is shown by an attack on low bits, where the lattice alone tells the answers apart as well."""

ROUNDED = "utilities are rounded to a number format before they are compared"
"""The flaw that is shown where large utilities lie between two numbers of a format, not beyond its end."""

SO_DID_EVERY_CALL = "; so did every call on either input, so nothing was tested"
"""How the reason of an error ends where a target failed throughout."""

EXACT_LAW, CERTIFICATE = "exact_law", "certificate"
"""What stands where an attack's name would, in the finding of a proof by exact laws, and by a checked certificate."""


class Reach(enum.StrEnum):
    """The pairs of neighbours that a verdict covers."""

    PAIR = "this pair"
    """The pair that the finding names."""
    INPUTS = "every pair among given inputs"
    """Every pair of neighbours among the inputs of a finite domain."""
    NEIGHBOURS = "every pair of neighbours"
    """Every pair of neighbours that there is."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a proof is for.

    Attributes:
        reach: of which pairs it speaks.
        inputs: how many inputs the finite domain has, if that is what it speaks of and it was counted.
        pairs: how many pairs of neighbours are among them.
        neighbours: what makes two inputs neighbours, in words, where a certificate says it.
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
    """A figure with confidence bounds."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of trials in which the event held the output of the first input, of the second, and of both."""

    first: int
    second: int
    trials: int
    both: int = 0

    @classmethod
    def of(cls, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Counts:
        """Count trials; the arrays say of each whether the event held its two outputs."""
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
        code: the event as an expression of one `output` in Python; empty where it takes more than a line.
        judged_at: the (ε, δ(ε)) at which the event was judged, where the claim is of another kind.
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
    """How often an event happened among outputs that were drawn afresh.

    Attributes:
        counts: in how many trials it happened.
        answers: how many answers the adversary sees in one trial.
        smallest_detectable: the smallest advantage that would have been detected with probability 95 %.
        trials_needed: how many trials refute the claim by this event, were the rates seen while choosing it the true
            ones; None where those rates keep the claim.
        untestable: whether no number of trials that can be drawn would decide.
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
        samples: what fresh outputs showed; None if none were drawn.
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
        outputs: of the first input of the pair and of the second, every bit of their floats kept.
        distance: how far they lie apart, as a fraction; "infinite" where one output is not a number.
        claimed: the largest distance that is claimed, as a fraction.
        apart: the distance in words.
        file: where the stage is defined; empty where that is not known.
        line: its first line, from 1.
    """

    outputs: tuple[str, str]
    distance: str
    claimed: str
    apart: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate and what its checker said of it.

    Attributes:
        file: where it was written.
        sha256: of its bytes.
        size: how many bytes it has.
        statement: what the checker says that it shows; empty if it does not accept it.
        readings: the files on whose reading this rests, by name.
        checked: how much was checked, as the checker says it.
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
"""The kinds of evidence, as a record names them."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The outcome of one attack, on one pair, on one target.

    Attributes:
        target: its name.
        attack: the attack's name.
        verdict: what is known of the claim now.
        reason: one line in plain words: why the verdict is what it is.
        claim: what the target claims for one trial (for several answers a trial, their composition).
        pair: the two inputs, as `described_pair` gives them; None where the attack came to no pair.
        evidence: what the verdict rests on; None where nothing was looked at.
        scope: of which pairs the verdict of a proof speaks; None for an attack's.
        flaw: what it shows if the claim is refuted by it, in one line; empty where nothing was judged.
        repair_code: a call of `exactdp` in place of the target, which claims no more than the target; empty if none is
            known, or the claim is not refuted.
        target_version: the version of the target's implementation.
        relation: that of the datasets which the claim is for; None where it holds for any.
        spec: the words of a command line that load the target; empty where none was used.
        alpha: the probability that this finding is a false alarm, were the claim true.
        seed: what all randomness was derived from.
        trials: outputs drawn in all, for choosing and judging, of both inputs.
        seconds: how long it took.
        replay: the line that replays it.
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
        """A finding on a target; `rest` are its other fields, with the target's claim by default."""
        rest = {"claim": target.claim, "relation": target.relation, "target_version": target.version, **rest}
        return cls(target=target.name, attack=attack, verdict=verdict, reason=reason, **rest)

    @property
    def samples(self) -> Samples | None:
        """What outputs drawn afresh showed, alone or besides an alignment."""
        evidence = self.evidence.samples if isinstance(self.evidence, Alignment) else self.evidence
        return evidence if isinstance(evidence, Samples) else None

    @property
    def shown(self) -> Shown:
        """What an event showed; empty where none was judged."""
        return self.samples or (self.evidence if isinstance(self.evidence, Shown) else Shown())

    @property
    def refutes(self) -> bool:
        """Whether it refutes the claim."""
        return self.verdict is Verdict.VIOLATED

    @property
    def is_note(self) -> bool:
        """Whether it tells how the target fails on inputs for which nothing is claimed."""
        return self.verdict is Verdict.NOT_APPLICABLE and self.evidence is not None

    @property
    def is_untestable(self) -> bool:
        """Whether no number of trials can decide it."""
        return self.samples is not None and self.samples.untestable

    @property
    def decides_nothing(self) -> bool:
        """Whether nothing was examined that could have decided; a proof that was sought in vain counts as examined."""
        is_open = self.verdict is Verdict.INCONCLUSIVE and not self.is_proof
        return is_open and (self.samples is None or self.samples.untestable)

    @property
    def is_proof(self) -> bool:
        """Whether a proof was sought, rather than a flaw."""
        return self.attack in (EXACT_LAW, CERTIFICATE)

    @property
    def verdict_in_scope(self) -> str:
        """The verdict, and for a proof its scope."""
        if self.scope is None or self.verdict is not Verdict.PROVED:
            return str(self.verdict)
        return f"{self.verdict} for {self.scope}"

    def __str__(self) -> str:
        return f"{self.target}: {self.attack}: {self.verdict_in_scope}: {self.reason}"

    @property
    def judged(self) -> PrivacyClaim:
        """The (ε, δ) at which its event was judged."""
        return self.shown.judged_at or self.claim.nominal

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON values, without the fields that are at their default."""
        stored: dict[str, Any] = _stored(self)
        return stored

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """Read a finding; fields that are left out take their defaults.

        Raises:
            ValueError: a field that every finding has is missing, or one is unknown or malformed.
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
    """The value of a finding as a record has it."""
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
    """The fields of a finding, or of a part of one, from a record."""
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
"""What reads the fields in a record that are not plain JSON values."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an audit; `findings` is what was found by then."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__()
        self.findings = findings


def decisive(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that stand for all: those of the worst verdict.

    An event that no number of trials can decide counts only where there is nothing else but attacks that do not apply.

    Args:
        findings: of one attack, one target or one test.

    Returns:
        Some of them, all of one verdict; none if there are none.
    """
    decided = [finding for finding in findings if not finding.decides_nothing]
    left = [finding for finding in decided if finding.verdict is not Verdict.NOT_APPLICABLE] or findings
    worst = min((finding.verdict for finding in left), key=WORST_FIRST.index, default=None)
    return [finding for finding in left if finding.verdict is worst]


def described_pair(pair: NeighbouringPair) -> dict[str, Any]:
    """A pair as plain JSON values, every bit of its floats kept."""
    return {
        "relation": pair.relation and str(pair.relation),
        "first": _described_input(pair.first),
        "second": _described_input(pair.second),
    }


def lower_text(bound: float, digits: int = 3) -> str:
    """A lower bound as text, rounded down to `digits` digits."""
    return _rounded(bound, digits, ROUND_FLOOR)


def upper_text(bound: float, digits: int = 3) -> str:
    """An upper bound as text, rounded up to `digits` digits."""
    return _rounded(bound, digits, ROUND_CEILING)


def environment() -> dict[str, str]:
    """What the findings of this process depend on besides the target: versions and the processor's kind."""
    return {
        "attacklab": _version("attacklab"),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "scipy", "gmpy2")},
        "machine": platform.machine(),
        "system": sys.platform,
    }


@functools.cache
def _version(distribution: str) -> str:
    """The version of what is installed, as it was when it was first asked for: a target may change `sys.path`."""
    return metadata.version(distribution)


def record(findings: Sequence[Finding], **rest: Any) -> dict[str, Any]:
    """The JSON record of some findings, with whatever else an experiment measured."""
    return {
        "schema": SCHEMA,
        "environment": environment(),
        "findings": [finding.to_json() for finding in findings],
        **rest,
    }


def read_record(path: Path) -> dict[str, Any]:
    """Read a record; its findings come as `Finding`.

    Raises:
        ValueError: it is not a record of a schema that is known; the message names the file.
    """
    data = read_json(path)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UsageError(f"{path} is not a record of schema {SCHEMA}")
    try:
        return {**data, "findings": list(map(Finding.from_json, data["findings"]))}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} holds a malformed finding: {error}") from error


def to_text(data: Mapping[str, Any], *, indent: int | None = 1) -> str:
    """JSON text of a record; refuses NaN and infinities, which JSON does not have.

    What does not print, and might steer a terminal that shows the file, stands as JSON escapes it.
    """
    between = None if indent else (",", ":")
    text = json.dumps(data, indent=indent, separators=between, ensure_ascii=False, allow_nan=False, default=_plain)
    text += "\n"
    return escaped(text, "\n", json.dumps)


def _described_input(value: Any) -> dict[str, Any]:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.empty((), dtype=object)
    if isinstance(value, list | tuple | str) and (array.ndim > 1 or (array.dtype != object and _changes(value, array))):
        array = np.empty((), dtype=object)  # records that are lists or tuples stay such
    described: dict[str, Any] = {"shape": list(array.shape), "dtype": str(array.dtype)}
    if array.dtype == object:
        return described | _described_object(value, array.ndim)
    if array.size > LONGEST_INPUT_IN_FULL:
        if (array.dtype.kind in TEXT_OF_KIND and array.dtype.itemsize <= 8) or array.dtype.kind == "U":
            texts = map(TEXT_OF_KIND[array.dtype.kind], array.ravel().tolist())
            described["runs"] = [[len(list(run)), text] for text, run in itertools.groupby(texts)]
        return {**described, "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}
    if array.dtype.kind == "f":
        described["hex"] = [float(number).hex() for number in array.ravel()]
    return {**described, "readable": [str(number) for number in array.ravel()]}


def _changes(value: Sequence[Any], array: NDArray[Any]) -> bool:
    """Whether numpy changed the values when it made the array: it converts all to one type, and cuts texts at a NUL."""
    pairs = zip([value] if isinstance(value, str) else value, array.ravel().tolist(), strict=True)
    return any(bool(one != other) and one == one for one, other in pairs)


def _described_object(value: Any, dimensions: int) -> dict[str, Any]:
    content = repr(value)
    readable = {"readable": [content]} if dimensions == 0 and len(content) <= LONGEST_REPR else {}
    literal = repr(value.tolist()) if isinstance(value, np.ndarray) else content
    exact = {"literal": literal} if _is_literal(literal) else {}
    return {**readable, **exact, "sha256": hashlib.sha256(content.encode()).hexdigest()}


def _is_literal(text: str) -> bool:
    """Whether Python reads the same value again."""
    try:
        return repr(ast.literal_eval(text)) == text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def recovered_pair(described: Mapping[str, Any]) -> NeighbouringPair:
    """The pair that `described_pair` was given, every bit of its numbers; lists of numbers come as arrays.

    Raises:
        UsageError: the record has a digest of an input only, as an older one has of long inputs.
    """
    first, second = (_recovered_input(described[side]) for side in ("first", "second"))
    return NeighbouringPair(first, second, described["relation"] and Relation(described["relation"]))


def _recovered_input(described: Mapping[str, Any]) -> Any:
    if "literal" in described:
        return ast.literal_eval(described["literal"])
    dtype = np.dtype(described["dtype"])
    runs = described.get("runs") or [[1, text] for text in described.get("hex", described.get("readable", ()))]
    if dtype.kind not in VALUE_OF_TEXT or sum(count for count, _ in runs) != math.prod(described["shape"]):
        raise UsageError("a finding has the digest of an input, not its values; make it again, or give the pair itself")
    values = [VALUE_OF_TEXT[dtype.kind](text) for count, text in runs for _ in range(count)]
    array = np.array(values, dtype=dtype).reshape(described["shape"])
    return array if array.ndim else array.item()


def recorded_pairs(path: Path) -> tuple[NeighbouringPair, ...]:
    """The pairs of a record's refuted claims, each once.

    Raises:
        UsageError: the file is not a record, refutes nothing, or does not hold the values of a pair.
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
