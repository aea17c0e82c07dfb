"""Mechanisms on a secret sample of the records: whoever is not in it loses nothing, and nobody knows who is.

Source: Balle, Barthe and Gaboardi 2018, 'Privacy Amplification by Subsampling: Tight Analyses via Couplings and
Divergences', theorems 8 and 9.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from mechanisms.coins import bernoulli, uniform_below
from mechanisms.core.claims import ApproximateDP, Claim
from mechanisms.core.numbers import convert, count, positive, rational
from mechanisms.core.rounding import exp_above, log_above
from mechanisms.core.term import Mechanism, OneByOne, Relation
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class PoissonSample(Mechanism):
    """A mechanism of pure DP on a Poisson sample, which includes each record independently with probability `rate`.

    With the rate q and an ε-DP mechanism, the whole is ln(1 + q·(e^ε − 1))-DP: if P is the law with a record in the
    sample and Q the law without it, the law with the record in the data is q·P + (1 − q)·Q.
    """

    mechanism: Mechanism
    rate: Fraction

    relation: ClassVar[Relation] = "add-remove"

    def __post_init__(self) -> None:
        convert(self, rational, "rate")
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate must lie in (0, 1], not {self.rate}")
        _require(self.mechanism, "add-remove")

    @property
    def claim(self) -> Claim:
        """ln(1 + q·(e^ε − 1)), rounded up."""
        return _amplified(self.mechanism, self.rate)

    def prepared(self, data: Any) -> OneByOne:
        """Check that the mechanism accepts all records, and keep them; see `Mechanism.prepared`."""
        records = list(data)
        self.mechanism.prepared(records)  # what is refused at once must not tell who is in the sample
        return OneByOne(lambda bits: self._sampled(records, bits))

    def _sampled(self, records: list[Any], bits: RandomBits) -> Any:
        sample = [record for record in records if bits.call(bernoulli, self.rate)]
        return self.mechanism.release(sample, bits)


@dataclass(frozen=True)
class FixedSample(Mechanism):
    """A mechanism of pure DP on a sample of a given size, drawn without replacement.

    The claim is as for `PoissonSample` with q = size/records, the probability that a record is in the sample.
    """

    mechanism: Mechanism
    size: int
    records: int

    relation: ClassVar[Relation] = "substitute"

    def __post_init__(self) -> None:
        convert(self, count, "size", "records")
        if self.size > self.records:
            raise ValueError(f"size must be at most the {self.records} records, not {self.size}")
        _require(self.mechanism, "substitute")

    @property
    def claim(self) -> Claim:
        """ln(1 + size/records·(e^ε − 1)), rounded up."""
        return _amplified(self.mechanism, Fraction(self.size, self.records))

    def prepared(self, data: Any) -> OneByOne:
        """Check that the mechanism accepts all records, and keep them; see `Mechanism.prepared`."""
        records = list(data)
        if len(records) != self.records:
            raise ValueError(f"there must be {self.records} records, their public number, not {len(records)}")
        for end in sorted({*range(self.size, self.records, self.size), self.records}):
            self.mechanism.prepared(records[end - self.size : end])  # see `PoissonSample.prepared`
        return OneByOne(lambda bits: self._sampled(records, bits))

    def _sampled(self, records: list[Any], bits: RandomBits) -> Any:
        sample: list[Any] = []
        for left in range(len(records), 0, -1):
            if bits.call(uniform_below, left) < self.size - len(sample):
                sample.append(records[left - 1])
        return self.mechanism.release(sample, bits)


def spent_on_sample(epsilon: Fraction, share: Fraction) -> Fraction:
    """Return the ε to spend on a sample so that the whole is `epsilon`-DP: ln(1 + (e^ε − 1)/share).

    Returns:
        A rational number below the formula, by less than a part in 2^90.
    """
    promised = positive("epsilon", epsilon)
    if not 0 < share <= 1:
        raise ValueError(f"share must lie in (0, 1], not {share}")
    least = 1 / exp_above(-promised)
    return -log_above(1 / (1 + (least - 1) / share)) * (1 - Fraction(1, 1 << 100))


def _require(mechanism: Mechanism, relation: Relation) -> None:
    claim = mechanism.claim
    if mechanism.relation != relation or not isinstance(claim, ApproximateDP) or claim.delta:
        raise ValueError(
            f"the mechanism must be of pure DP for {relation!r} neighbours, not {mechanism.relation!r}: {claim}"
        )


def _amplified(mechanism: Mechanism, share: Fraction) -> ApproximateDP:
    claim = mechanism.claim
    assert isinstance(claim, ApproximateDP)  # noqa: S101 # for types; it was required
    return ApproximateDP(log_above(1 + share * (exp_above(claim.epsilon) - 1)))
