"""Targets: implementations under attack, together with their claims.

A release is called as `release(input, trials, rng)` and returns one unaltered output a trial. The kind of the target
says what the input is. The adversary picks both inputs of a neighbouring pair, because DP promises to withstand that.
"""

from __future__ import annotations

import copy
import difflib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Integral, Rational
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.claims.base import require_numbers
from attacklab.model.domains import Domain
from attacklab.model.domains.datasets import RELATIONS
from attacklab.model.domains.domain import as_bounds
from attacklab.model.errors import (
    LabFault,
    OutsideDomain,
    Refused,
    TargetError,
    UsageError,
    UsageTypeError,
    Word,
    passes_through,
    text_of,
)
from attacklab.model.errors import in_one_line as in_one_line  # for whoever tells what a target raised
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array, require_near
from attacklab.model.releases import CALL, gathered, in_one_process, misfit, name_of, require_no_class
from attacklab.model.stage import stage

Outputs: TypeAlias = NDArray[Any]
"""An array with one output a trial along the first axis. It has dtype object if some may be a `Failure` or None."""

Release: TypeAlias = Callable[[Any, int, np.random.Generator], Any]
"""Called as `release(input, trials, rng)`; returns one output a trial in an array, list, tuple or iterator."""

Sampler: TypeAlias = Callable[[Any, Any], Any]

CALLS = {"release": CALL, "sampler": "sampler(input, bits)", "certificate": "certificate()"}
"""How the functions of a target are called, for messages."""


class Kind(Word):
    """The kind of input that a release takes, which decides the attacks that apply."""

    NOISE = "noise"
    """The true answer, a number; the output is that number with noise."""
    SELECTION = "selection"
    """A vector of utilities, larger is better; the output is an index."""
    SUM = "sum"
    """A vector of records; the output is their noisy sum."""
    MEAN = "mean"
    """A vector of records; the output is their noisy mean."""
    DATASET = "dataset"
    """The input is anything that a neighbouring pair can hold."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Stands for the output of a release that raised an exception, if the adversary sees failures.

    Attributes:
        kind: the name of the exception's type.
        message: the exception's message.
    """

    kind: str
    message: str

    def __float__(self) -> float:
        return math.nan


class Declared(TypedDict, total=False):
    """The arguments that the constructors of all kinds of targets take.

    `epsilon`, above 0, and `delta`, in [0, 1), make a claim; `claim` is a claim of another kind, in place of both.
    `name` is the release's own name by default. `domain` and `pairs` are as in `Target`.
    """

    epsilon: float | None
    delta: float
    claim: Claim | None
    name: str | None
    domain: Domain | None
    pairs: Sequence[NeighbouringPair]


@dataclass(frozen=True, kw_only=True)
class Target:
    """An implementation under attack. Each kind has a constructor, such as `Target.noise`.

    Attributes:
        name: the name in findings.
        kind: the kind of input.
        claim: the privacy claim for one output.
        release: `release(input, trials, rng)`, which returns one output a trial; see `Release`.
        sensitivity: the most that a true answer or a utility moves between neighbours.
        bounds: the lower and the upper bound of a record, for sums and means.
        noise_scale: the exact λ of Laplace or σ of Gaussian noise; None if it follows from the textbook formula.
        relation: the relation of the datasets for which the claim holds; None if it holds for all relations.
        sampler: `sampler(input, bits)`, which returns one output and draws from a source of random bits with `take`,
            `words`, `call` and `repeat`; None if there is none. Exact laws prove only targets that have one.
        version: the version of the implementation.
        domain: the inputs that the target takes; None if it takes all inputs of its kind.
        pairs: neighbouring pairs to try, besides those that attacks make.
        certificate: returns a certificate for every pair of neighbours, as JSON values; None if there is none.
    """

    name: str
    kind: Kind
    claim: Claim
    release: Release = field(repr=False)
    sensitivity: float = 1.0
    bounds: tuple[float, float] | None = None
    noise_scale: float | None = None
    relation: Relation | None = None
    sampler: Sampler | None = field(default=None, repr=False)
    version: str = "unknown"
    domain: Domain | None = None
    pairs: tuple[NeighbouringPair, ...] = field(default=(), repr=False)
    certificate: Callable[[], Mapping[str, Any]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, call in CALLS.items():
            function = getattr(self, name)
            if not (callable(function) or (function is None and name != "release")):
                raise UsageTypeError(f"{name} must be callable as {call}, not {function!r}")
        require_no_class(self.release)
        claim = self.claim
        if not isinstance(claim, Claim):
            raise UsageTypeError(f"claim must be a claim, such as PrivacyClaim(1.0), not {claim!r}")
        if isinstance(claim, PrivacyClaim) and claim.epsilon <= 0:
            raise UsageError(f"epsilon must be greater than 0, not {claim.epsilon}")
        require_numbers(sensitivity=self.sensitivity)
        if self.noise_scale is not None:
            require_numbers(noise_scale=self.noise_scale)
        has_records = self.kind in (Kind.SUM, Kind.MEAN)
        if self.bounds is None and has_records:
            raise UsageTypeError(f"a {self.kind} target needs bounds, the least and the largest record (--bounds)")
        if self.bounds is not None:
            object.__setattr__(self, "bounds", as_bounds(self.bounds))
        if self.relation is not None:
            object.__setattr__(self, "relation", Relation(self.relation))
        if has_records and self.relation not in (None, *RELATIONS):
            raise UsageError(f"relation of a {self.kind} target must be add-remove or substitute, not {self.relation}")
        if self.domain is not None:
            object.__setattr__(self, "domain", _checked_domain(self.domain, self.kind, self.relation))
        object.__setattr__(self, "pairs", _checked_pairs(self))

    @classmethod
    def noise(
        cls,
        release: Release,
        *,
        sensitivity: float = 1.0,
        noise_scale: float | None = None,
        **declared: Unpack[Declared],
    ) -> Target:
        """Make a target that adds noise: the input is the true answer, and the output is this answer with noise.

        Args:
            release: `release(answer, trials, rng)`, which returns `trials` floats (or integers).
            sensitivity: the most that the answer moves between neighbours.
            noise_scale: λ of Laplace or σ of Gaussian noise, which need not be secret. Attacks on the noise's low bits
                need it if it is not Δ/ε or Δ·√(2·ln(1.25/δ))/ε.
            **declared: the claim, and other arguments that every kind takes: `epsilon`, `delta`, `claim`, `name`,
                `domain`, `pairs`; see `Declared`.

        Raises:
            TypeError: `release` is not callable.
            ValueError: a parameter is out of range.
        """
        return cls._made(release, Kind.NOISE, declared, sensitivity=sensitivity, noise_scale=noise_scale)

    @classmethod
    def selection(cls, release: Release, *, sensitivity: float = 1.0, **declared: Unpack[Declared]) -> Target:
        """Make a target that selects: the input is a vector of utilities, and the output is the index of one of them.

        `sensitivity` is the most that any utility moves between neighbours. Other arguments are as in `Target.noise`.
        """
        return cls._made(release, Kind.SELECTION, declared, sensitivity=sensitivity)

    @classmethod
    def sum(
        cls,
        release: Release,
        *,
        bounds: tuple[float, float],
        relation: Relation | str | None = None,
        **declared: Unpack[Declared],
    ) -> Target:
        """Make a target for a noisy sum: the input is a vector of records, clipped to `bounds`.

        `relation` is the relation of the datasets for which the claim holds, add-remove or substitute. By default the
        claim must hold for both. Other arguments are as in `Target.noise`.
        """
        return cls._made(release, Kind.SUM, declared, bounds=bounds, relation=relation)

    @classmethod
    def mean(
        cls,
        release: Release,
        *,
        bounds: tuple[float, float],
        relation: Relation | str | None = None,
        **declared: Unpack[Declared],
    ) -> Target:
        """Make a target for a noisy mean: the input is a vector of records, clipped to `bounds`.

        Arguments are as in `Target.sum`. If the number of records is public, set `relation` to substitute.
        """
        return cls._made(release, Kind.MEAN, declared, bounds=bounds, relation=relation)

    @classmethod
    def dataset(
        cls, release: Release, *, relation: Relation | str | None = None, **declared: Unpack[Declared]
    ) -> Target:
        """Make a target for any other mechanism: the input is whatever a neighbouring pair holds.

        It needs inputs to try: a `domain` with a shape, or `pairs`. Other arguments are as in `Target.sum`.
        """
        return cls._made(release, Kind.DATASET, declared, relation=relation)

    stage = staticmethod(stage)

    @classmethod
    def _made(cls, release: Release, kind: Kind, declared: Declared, **rest: Any) -> Target:
        unknown = sorted(set(declared) - set(Declared.__annotations__))
        if unknown:
            takes = {other: {*inspect.signature(getattr(cls, other)).parameters} for other in Kind}
            kinds = " or ".join(other for other in Kind if {*unknown} <= takes[other])
            advice = f"leave that out, or give another kind: {kinds}" if kinds else "leave that out"
            near = difflib.get_close_matches(unknown[0], {*Declared.__annotations__} | takes[kind], n=1)
            if near and not kinds:
                advice = f"did you mean {near[0]}?"
            raise UsageTypeError(f"a {kind} target takes no {' or '.join(unknown)}; {advice}")
        epsilon, delta, claim = declared.get("epsilon"), declared.get("delta", 0.0), declared.get("claim")
        if claim is None and epsilon is not None:
            claim, epsilon, delta = PrivacyClaim(epsilon, delta), None, 0.0
        if claim is None:
            raise UsageError("a target needs a claim; give an epsilon (--epsilon) or a claim (--claim)")
        if epsilon is not None or delta:
            raise UsageError(f"give an epsilon (and delta) or a claim, not both: {claim}")
        return cls(
            name=declared.get("name") or name_of(getattr(release, "func", release)),
            kind=kind,
            claim=claim,
            release=release,
            domain=declared.get("domain"),
            pairs=tuple(declared.get("pairs", ())),
            **rest,
        )

    def exact(self, sampler: Sampler) -> Target:
        """Return the same target with a sampler, so that its claim can be proved by exact laws.

        Args:
            sampler: `sampler(input, bits)` returns one output, and draws only from `bits`, a `RandomBits`.

        Raises:
            TypeError: `sampler` is not callable.
        """
        if sampler is None:
            raise UsageTypeError(f"sampler must be callable as {CALLS['sampler']}, not None")
        return replace(self, sampler=sampler)

    def certified(self, certificate: Callable[[], Mapping[str, Any]]) -> Target:
        """Return the same target with a certificate, so that its claim can be proved for every pair of neighbours.

        Args:
            certificate: a function that returns the JSON values, since its tables can take long to compute. They have
                at least the fields `claim` and `relation`, as `mechanisms.core.certificate` writes them.

        Raises:
            TypeError: `certificate` is not callable.
        """
        if certificate is None:
            raise UsageTypeError(f"certificate must be callable as {CALLS['certificate']}, not None")
        return replace(self, certificate=certificate)

    def covers(self, pair: NeighbouringPair) -> bool:
        """Whether the claim covers a pair: its inputs lie in the domain, and its relation is the target's.

        Only the domain counts if the pair has no relation (answers or utilities), or if the target has none.
        """
        return not self.why_not_covered(pair)

    def why_not_covered(self, pair: NeighbouringPair) -> str:
        """Return why the claim does not cover a pair; empty if it does."""
        if self.relation is not None and pair.relation not in (None, self.relation):
            return f"its claim is for {self.relation} neighbours, and the pair is one by {pair.relation}"
        is_inside = self.domain is None or self.domain.covers(pair)
        return "" if is_inside else f"the pair does not lie in its domain, {self.domain}"

    def takes(self, input_: Any) -> bool:
        """Whether an input lies in the domain of the target."""
        return self.domain is None or self.domain.contains(input_)

    def cast(self, input_: Any) -> Any:
        """Return an input with its numbers in the type of the domain, or unchanged if that would change a value."""
        return input_ if self.domain is None else self.domain.cast(input_)

    def cast_pair(self, pair: NeighbouringPair) -> NeighbouringPair:
        """Return a pair with the numbers of both inputs in the type of the domain, as in `cast`."""
        return NeighbouringPair(self.cast(pair.first), self.cast(pair.second), pair.relation)

    def adapted(self, pair: NeighbouringPair) -> NeighbouringPair:
        """Return the pair itself if the domain holds it, else the nearest pair in the domain.

        Raises:
            OutsideDomain: there is no such pair.
        """
        near = pair if self.domain is None else self.domain.adapted(pair, self.sensitivity)
        if near is None:
            raise OutsideDomain(f"the domain of {self.name} holds no such pair")
        return near

    def why_too_far(self, pair: NeighbouringPair) -> str:
        """Return why a pair of answers or utilities is further apart than the sensitivity; empty if it is not.

        NaN on one side only is too far, as two different infinities are, unless the domain holds them.
        """
        if self.kind not in (Kind.NOISE, Kind.SELECTION):
            return ""
        try:
            special = self.domain is not None and self.domain.special is True
            require_near(pair.first, pair.second, self.sensitivity, special=special)
        except UsageError as error:
            return str(error)
        return ""

    def outputs(self, input_: Any, trials: int, rng: np.random.Generator, *, sees_failures: bool = False) -> Outputs:
        """Run the release, check its outputs, and return them with every bit kept.

        The release gets a copy of the input, so that a release that works in place does not spoil later calls.

        Args:
            input_: an input of the target's kind.
            trials: the number of outputs.
            rng: the generator to pass to the release.
            sees_failures: whether a call that raises an exception has a `Failure` as its output. The release is then
                called once a trial, so that one failure is one output and trials stay independent.

        Raises:
            Refused: the release raised an exception (or asked the process to exit), and `sees_failures` is False.
            TargetError: the release did not return one valid output a trial, or could not be run. The message says
                which, in one line.
        """
        if not sees_failures:
            return _released(self, input_, trials, rng)
        outputs = np.empty(trials, dtype=object)
        for trial in range(trials):
            try:
                outputs[trial] = _released(self, input_, 1, rng)[0]
            except Refused as failure:
                cause = failure.__cause__
                assert cause is not None  # noqa: S101 - it is raised from one
                outputs[trial] = Failure(type(cause).__name__, text_of(cause))
        return outputs


def _released(target: Target, input_: Any, trials: int, rng: np.random.Generator) -> Outputs:
    """Run the release of a target, and return its outputs as an array of valid outputs, one a trial."""
    try:
        with in_one_process(), np.errstate(all="ignore"):
            released = target.release(copy.deepcopy(input_), trials, rng)
            outputs: Outputs | None = gathered(released, trials)
    except TargetError as error:  # what runs the release failed, not the release: nothing that an adversary sees
        kind = OutsideDomain if isinstance(error, OutsideDomain) else TargetError
        raise kind(f"{target.name}: {error}") from error
    except LabFault:
        raise
    except BaseException as error:
        if passes_through(error):
            raise
        told = "; ".join(filter(None, (in_one_line(error), misfit(target.release))))
        raise Refused(f"{target.name} raised {told}") from error
    if outputs is None:
        raise TargetError(f"{target.name} returned {described(released)}, not a list or an array, one output a trial")
    if len(outputs) != trials:
        raise TargetError(f"{target.name} returned {len(outputs)} outputs for {trials} trials")
    wrong = "" if target.kind is Kind.DATASET else _wrong(outputs, target.kind, input_)
    if wrong:
        raise TargetError(f"{target.name} returned {wrong}")
    return outputs


def _wrong(outputs: Outputs, kind: Kind, input_: Any) -> str:
    """Return what is wrong with outputs: they must be indices (SELECTION) or at most 64 bits wide. Empty if nothing is.

    For kinds other than SELECTION, outputs that are not numbers are allowed.
    """
    numbers = _vector_of_numbers(outputs)
    if kind is not Kind.SELECTION:
        is_wide = numbers is not None and numbers.size and numbers.dtype.itemsize > 8
        return f"outputs of type {outputs.dtype}, not numbers of up to 64 bits" if is_wide else ""
    if numbers is None or (numbers.size and numbers.dtype.kind == "f"):
        form = outputs.dtype if numbers is None else numbers.dtype
        shape = f" and shape {outputs.shape[1:]}" if outputs.ndim > 1 else ""
        return f"outputs of type {form}{shape}, not indices"
    if numbers.size and (numbers.min() < 0 or numbers.max() >= len(input_)):
        return f"indices from {numbers.min()} to {numbers.max()} of {len(input_)} outcomes"
    return ""


def _checked_domain(domain: object, kind: Kind, relation: Relation | None) -> Domain:
    """Return the domain with `special` filled in. Raise an error if it does not fit the kind and the relation."""
    if not isinstance(domain, Domain):
        raise UsageTypeError(f"domain must be a Domain, such as Domain(non_negative=True), not {domain!r}")
    shape = domain.shape
    if shape is None and kind is Kind.DATASET:
        example = "Domain(shape=Records(), bounds=(0, 1))"
        raise UsageError(f"the domain of a {kind} target must have a shape, such as {example}")
    if shape is not None and kind is not Kind.DATASET:
        raise UsageError(f"the domain of a {kind} target must not have a shape ({shape.form}); leave it out")
    if shape is not None and relation is not None and relation not in shape.relations:
        known = " or ".join(shape.relations) or "none"
        raise UsageError(
            f"the relation of {shape.form} must be {known}, not {relation}: "
            f"this domain has no pair of {relation} neighbours"
        )
    if domain.special is not None:
        return domain
    has_all = not any((domain.integers, domain.non_negative, domain.bounds))
    return replace(domain, special=kind in (Kind.SUM, Kind.MEAN) and has_all)


def _checked_pairs(target: Target) -> tuple[NeighbouringPair, ...]:
    """Return the pairs of a target. Raise an error if its claim does not cover one of them."""
    if not isinstance(target.pairs, tuple | list):
        raise UsageTypeError(f"pairs must be neighbouring pairs in a tuple, not {described(target.pairs)}")
    for number, pair in enumerate(target.pairs):
        if not isinstance(pair, NeighbouringPair):
            raise UsageTypeError(f"pair {number} must be a NeighbouringPair, not {described(pair)}")
        if why := target.why_not_covered(pair) or target.why_too_far(pair):
            raise UsageError(
                f"pair {number} of {target.name} is outside its claim: {why}; "
                "leave the pair out, or declare another domain, relation or sensitivity"
            )
    return tuple(target.pairs)


def are_numbers(outputs: Outputs) -> bool:
    """Whether each output is one number, or a failure, so that attacks on numbers apply."""
    if _vector_of_numbers(outputs) is not None:
        return True
    return outputs.dtype == object and all(
        is_exact(output) or (isinstance(output, Integral) and not isinstance(output, bool))
        for output in _answered(outputs)
    )


def _answered(outputs: Outputs) -> list[Any]:
    """Return the outputs that are neither None nor a `Failure`."""
    return [output for output in outputs if output is not None and not isinstance(output, Failure)]


def _vector_of_numbers(outputs: Outputs) -> NDArray[Any] | None:
    """Return outputs as a vector of integers or floats, without None and failures; None if one is something else."""
    numbers = outputs
    if outputs.dtype == object:
        numbers = as_array(present) if (present := _answered(outputs)) else np.empty(0)
    return numbers if numbers.ndim == 1 and (numbers.dtype.kind in "iuf" or not numbers.size) else None


def is_exact(output: object) -> bool:
    """Whether an output is an exact number other than an integer: a fraction of any library, or a `Decimal`."""
    if isinstance(output, Decimal):
        return not output.is_nan()
    return isinstance(output, Rational) and not isinstance(output, Integral)


def described(value: object) -> str:
    """Return the type of a value for messages, such as 'an int'."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
