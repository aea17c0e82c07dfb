"""The page on proofs of output and work says what claims on output and work cost, as it is computed from the terms."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from attacklab.laws import Limits, enumerate_law
from attacklab.model.files import read_json
from mechanisms.core.claims import ApproximateDP, OutputAndWork
from mechanisms.core.compose import Mapped
from mechanisms.core.flip import RationalResponse, Response
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.term import Mechanism
from mechanisms.core.with_work import Delayed, Padded, WithWork
from mechanisms.laplace.exact import exact_discrete_laplace, exact_two_sided_geometric
from mechanisms.quantile.exact import exact_quantile
from mechanisms.randomness import RandomBits
from mechanisms.subsampling.exact import exact_poisson_count

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanations" / "proofs_of_output_and_work.md").read_text("utf-8")
RECORDS = 1000


class Middle(RandomBits):
    """Counts bits: those that are taken together are the middle of their range, and a single one is 0."""

    taken = 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        self.taken += count
        return 1 << count - 1 if count > 1 else 0


def mean_bits(term: Mechanism, data: Any) -> float:
    """How many bits a release takes on average, but for what is left open."""
    law = enumerate_law(term.release, data, counted="bits", limits=Limits(Fraction(1, 2**40)))
    return float(sum(bits * mass for (_, bits), mass in law.masses.items()))


def middle_bits(term: Mechanism, data: Any) -> int:
    """How many bits a release takes that draws the middle of each word: the usual number."""
    bits = Middle()
    term.release(data, bits)
    return bits.taken


def promised(term: Mechanism) -> str:
    """ε and δ, as powers of 2 rounded up."""
    claim: Any = term.claim
    inner = claim.claim if isinstance(claim, OutputAndWork) else claim
    assert isinstance(inner, ApproximateDP)
    delta = f"2^−{math.floor(-math.log2(inner.delta))}" if inner.delta else "0"
    return f"{math.ceil(inner.epsilon * 1000) / 1000:g} | {delta}"


def rows() -> list[str]:
    """The rows of the table."""
    response, third = Response(Fraction(1)), RationalResponse(Fraction(1, 3))
    quantile: Mapped = exact_quantile(epsilon=1, quantile=0.5, lower=0, upper=99, grid=Grid(0))
    sampled = exact_poisson_count(epsilon=1, rate=0.25)
    records = [1] * RECORDS
    return [
        f"| {name} | {plain:.4g} | `{repair}` | {bits:.4g} | {promised(term)} |"
        for name, plain, repair, bits, term in [
            ("geometric noise on −16, …, 16, ε = 1", 62, "WithWork", 62, WithWork(_geometric())),
            ("discrete Laplace noise, scale 4 steps", 64, "WithWork", 64, WithWork(_laplace())),
            ("randomized response, ε = 1", mean_bits(response, True), "Padded", 64, Padded(response, 64, False)),
            ("a bit turned round with 1/3", mean_bits(third, True), "Padded", 64, Padded(third, 64, False)),
            ("a quantile of 100 candidates", middle_bits(quantile, [1.0]), "WithWork", 64, WithWork(quantile)),
            ("the same", middle_bits(quantile, [1.0]), "Padded", 512, Padded(quantile, 512, 0.0)),
            (
                f"a count of a quarter of {RECORDS} records, ε = 1",
                middle_bits(sampled, records),
                "Delayed",
                middle_bits(_delayed(sampled), records),
                _delayed(sampled),
            ),
        ]
    ]


def _geometric() -> Mechanism:
    return exact_two_sided_geometric(epsilon=1, lower=-16, upper=16)


def _laplace() -> Mechanism:
    return exact_discrete_laplace(epsilon=1, grid=Grid(-2))


def _delayed(sampled: Mechanism) -> Mechanism:
    return Delayed(sampled, DiscreteLaplace(Fraction(8)), 300)


def test_the_prices_are_those_of_the_page() -> None:
    table = "\n".join(rows())
    assert table in PAGE, f"write these rows into the page:\n{table}"


def test_what_terms_lose_of_which_nothing_is_said_is_what_the_record_holds() -> None:
    exact = read_json(ROOT / "reports" / "data" / "output_and_work.json")["measured"]["exact"]
    start = PAGE.index("| term | why nothing is said |")
    told = [line.strip("| ").split(" | ") for line in PAGE[start : PAGE.index("\n\n", start)].splitlines()[2:]]
    assert {term.strip("`") for term, *_ in told} == set(UNSAID)
    for term, _, name, delta in told:
        found = exact[f"exact_{name}"]
        most = found["joint"]["delta"][1] if "joint" in found else found["added_at_most"]
        assert f"{most:.3g}" == delta, term


UNSAID = "Response", "PermuteAndFlip", "NoisyMax", "SelectBase2", "KeysAbove", "Session", "AboveThreshold"
"""Constructors that have no rule for their bits, but for those whose data say how many outcomes or counts there are."""
