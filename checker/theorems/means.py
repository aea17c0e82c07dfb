"""Theorems on means of records in a public range, whose noise may depend on their number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.enclosures.elementary import exp
from checker.kinds import noises, people, record_map
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.lending import lent, used
from checker.kinds.local_sensitivity import (
    BITS,
    GREATEST_EXPONENT,
    approximate_claim,
    local_sensitivity,
    require_local_sensitivity,
    require_smooth_bound,
    rounded_mean,
    tail,
)
from checker.kinds.noises import require_noise
from checker.kinds.prepared import prepared, released
from checker.kinds.record_map import RecordMap, require_record_map
from checker.kinds.released import Noise, Passed, ReleasedRows, Run, at_least
from checker.kinds.symbols import Cases, Symbol, require_equal

LEMMAS = (*noises.LEMMAS, *record_map.LEMMAS)

COMPARISONS = {">=": 0, ">": 1}
"""The tests that show that a noisy integer is at least a number, and how far beyond it."""


def _records(certificate: Certificate) -> RecordMap:
    """Check that records become positions of the domain of a certificate."""
    domain = certificate.arguments()["domain"]
    record = require_record_map(domain, Fraction(1))
    width = (Fraction(domain.upper) - Fraction(domain.lower)) / Fraction(2) ** domain.grid.exponent
    if (record.least, record.greatest) != (0, width) or type(domain.width) is not int or domain.width != width:
        raise Refused(f"records become {record.least} to {record.greatest}, not 0 to {width} steps")
    return record


def _scale(noise: Noise) -> Fraction:
    scale = noise.parameters["scale"]
    if type(scale) not in (int, Fraction) or scale <= 0:
        raise Refused(f"noise of scale {scale!r} is drawn")
    return Fraction(scale)


def _conclude(found: str, lemmas: tuple[str, ...], *checked: Mapping[str, int]) -> Conclusion:
    counts = {what: sum(one.get(what, 0) for one in checked) for one in checked for what in one}
    return Conclusion(found, (*LEMMAS, *lemmas), counts)


def _pure(one: Any, moves: Mapping[str, int], epsilon: Fraction) -> tuple[Fraction, Any]:
    """Add up what one record costs in each way of a release; return the most, and what was checked of the noise."""
    noise, most, ways = [], Fraction(0), 0
    for _, run in released(one, *moves):
        if any(type(asked.rows) is Passed for asked in run.noises):
            raise Refused("noise is drawn for some of the trials")
        most = max(most, sum((moves[asked.answer] / _scale(asked) for asked in run.noises), Fraction(0)))
        noise += run.noises
        ways += 1
    if most > epsilon:
        raise Refused(f"one record costs {most}, more than {epsilon}")
    return most, {**require_noise(type(one).one, noise, map(_scale, noise)), "ways": ways}


def sum_over_count(certificate: Certificate) -> Conclusion:
    """Show that a noisy sum over a noisy count keeps ε for all databases, once and many times.

    A record adds at most W to the sum of positions and 1 to their number; the costs of both add up.

    Functions: `prepare(records, **parameters)`. Parameters: domain, epsilon.
    """
    epsilon = pure_epsilon(certificate)
    neighbours = require_neighbours(certificate, "add-remove")
    record = _records(certificate)
    one = prepared(certificate, lambda _, total, count: {"total": total, "count": count})
    most, checked = _pure(one, {"total": record.move(neighbours), "count": 1}, epsilon)
    return _conclude(
        f"{most}-DP for every pair of databases of any size ({neighbours}), by both paths",
        (),
        checked,
        {"records": record.tried},
    )


def sample_and_aggregate(certificate: Certificate) -> Conclusion:
    """Show that the mean of chunks' answers keeps ε for all databases, once and many times.

    One record is one person, who moves the answer of one chunk, by at most W.

    Functions: `prepare(records, **parameters)`. Parameters: domain, epsilon, chunks, key.
    """
    epsilon = pure_epsilon(certificate)
    neighbours = require_neighbours(certificate, "add-remove")
    record = _records(certificate)
    prepare, parameters = certificate.function("prepare"), certificate.arguments()
    numbering, aggregating = (used(prepare, name) for name in ("numbered", "prepare_sample_aggregate"))
    records, numbered, outcome = object(), object(), object()
    given: dict[str, Any] = {}

    def people_of(one: Any) -> object:
        if one is not records:
            raise Refused("something other than the records gets people")
        return numbered

    def aggregate(one: Any, **options: Any) -> object:
        if one is not numbered:
            raise Refused("something other than the people is aggregated")
        given.update(options)
        return outcome

    with lent(prepare, numbered=people_of, prepare_sample_aggregate=aggregate):
        if prepare(records, **parameters) is not outcome:
            raise Refused("something other than the aggregate is prepared")
    public = {name: given[name] for name in ("domain", "chunks", "key", "epsilon")}
    if set(given) != {*public, "statistic"} or type(public["key"]) is not bytes or type(public["chunks"]) is not int:
        raise Refused(f"the aggregate is prepared with {given}")
    if public["domain"] != parameters["domain"]:
        raise Refused("the aggregate has a domain of its own")
    tried = people.require_numbering(numbering) + people.require_chunks(aggregating, **public)
    tried += people.require_answers(used(aggregating, "_answer"))
    one = aggregating([], **given)
    most, checked = _pure(one, {"total": record.greatest - record.least}, epsilon)
    return _conclude(
        f"{most}-DP for every pair of databases of any size ({neighbours}), by both paths",
        ("numbered-people", "one-chunk"),
        checked,
        {"records": record.tried, "people": tried},
    )


def propose_test_release(certificate: Certificate) -> Conclusion:
    """Show that a mean by propose-test-release keeps (ε, δ) for all databases, once and many times.

    With m the least size with L(m) ≤ b, the distance max(0, n − m + 1) moves by at most 1 between neighbours. Where
    the mean can move by more than b, both distances are 0, and the test passes with probability δ at most.

    Functions: `prepare(records, **parameters)`. Parameters: domain, bound, epsilon, delta.
    """
    epsilon, delta = approximate_claim(certificate)
    neighbours = require_neighbours(certificate, "add-remove")
    record = _records(certificate)
    parameters, width = certificate.arguments(), record.greatest
    bound = (Fraction(parameters["bound"]) / Fraction(2) ** parameters["domain"].grid.exponent).__floor__()
    if bound < 1:
        raise Refused("a bound of less than a step is proposed")
    fewest = local_sensitivity(bound, width)  # ⌈W/m⌉ ≤ b exactly if m ≥ W/b
    if local_sensitivity(fewest, width) > bound or (fewest > 1 and local_sensitivity(fewest - 1, width) <= bound):
        raise RuntimeError(f"{fewest} is not the least size with a local sensitivity of {bound}")

    def model(_: Cases, total: Symbol, count: Symbol) -> dict[str, Any]:
        return {"distance": max(0, count - (fewest - 1)), "mean": rounded_mean(total, count, width)}

    one = prepared(certificate, model)
    noise: list[Noise] = []
    most, passing, ways = Fraction(0), Fraction(0), 0
    for path, run in released(one, "distance", "mean"):
        if [asked.answer for asked in run.noises] not in (["distance"], ["distance", "mean"]):
            raise Refused(f"what is released in turn is {[asked.answer for asked in run.noises]}")
        test = _scale(run.noises[0])
        loss = 1 / test
        if len(run.noises) == 2:
            loss += bound / _scale(run.noises[1])
            passing = max(passing, tail(_threshold(path, run), test))
        most, ways = max(most, loss), ways + 1
        noise += run.noises
    if most > epsilon or passing > delta:
        raise Refused(f"one record costs {most} and passes by {float(passing)}, more than {epsilon} and {float(delta)}")
    checked = require_noise(type(one).one, noise, map(_scale, noise))
    return _conclude(
        f"({most}, {float(passing):.6g})-DP for every pair of databases of any size ({neighbours}), by both paths",
        ("rounded-mean", "propose-test-release"),
        checked,
        {"records": record.tried, "ways": ways, "small databases": require_local_sensitivity()},
    )


def _threshold(path: str, run: Run) -> int:
    """Return what the noisy distance is at least where a mean is released."""
    if path == "one":
        found = at_least(run.facts, 0)
    else:
        rows = run.noises[1].rows
        test = rows.test if type(rows) is Passed else ReleasedRows(None)
        comparison, noise, value = test.made if len(test.made) == 3 else ("", None, 0)
        found = value + COMPARISONS[comparison] if noise == 0 and comparison in COMPARISONS else None
    if found is None:
        raise Refused("a mean is released whatever the noisy distance is")
    return found


def smooth_mean(certificate: Certificate) -> Conclusion:
    """Show that a mean with noise scaled to its smooth sensitivity keeps (ε, δ) for all databases, once and many times.

    The scale is t = f·S(n). Moving the mean costs at most 1/f, since it moves by at most L ≤ S at both databases.
    Changing the scale costs at most z/J as long as the noise is within z scales, and at most 1/J where the scale grows.

    Functions: `prepare(records, **parameters)`. Parameters: domain, epsilon, delta.
    """
    epsilon, delta = approximate_claim(certificate)
    neighbours = require_neighbours(certificate, "add-remove")
    record = _records(certificate)
    width, prepare = record.greatest, certificate.function("prepare")
    smoothings: list[int] = []
    factor = 2 / Fraction(certificate.arguments()["epsilon"])

    def smooth_sensitivity(cases: Cases, count: Any, given_width: int, smoothing: int) -> Symbol:
        require_equal(count, cases.unknown("count"), "the number of records")
        require_equal(given_width, width, "the width")
        if type(smoothing) is not int or smoothing < 1:
            raise Refused(f"bounds are smoothed by {smoothing!r}")
        smoothings.append(smoothing)
        return cases.unknown("smooth")

    def model(cases: Cases, total: Symbol, count: Symbol) -> dict[str, Any]:
        return {
            "mean": rounded_mean(total, count, width),
            "noise_scale": cases.unknown("smooth") * factor,
        }

    one = prepared(certificate, model, smooth_sensitivity=smooth_sensitivity)
    smoothing = smoothings[0]
    if set(smoothings) != {smoothing}:
        raise Refused("the smoothing depends on the records")
    bounds = require_smooth_bound(used(prepare, "smooth_sensitivity"), width, smoothing)
    noise: list[Noise] = []
    for _, run in released(one, "mean", "noise_scale"):
        scales = [asked.parameters["scale"] for asked in run.noises if asked.answer == "mean"]
        if len(run.noises) != 1 or len(scales) != 1 or not run.is_private("noise_scale", scales[0]):
            raise Refused("something other than the mean is released, or with noise of another scale")
        noise += run.noises
    dilation = epsilon - 1 / factor
    if dilation < Fraction(1, smoothing):
        raise Refused(f"ε = {epsilon} leaves no room for a scale that changes by one part in {smoothing}")
    within = min(smoothing * dilation, GREATEST_EXPONENT)
    beyond = 2 * exp(-within, BITS)[1]
    if beyond > delta:
        raise Refused(f"noise beyond {within} scales has a mass up to {float(beyond)}, not {float(delta)}")
    tried = [factor * bounds[size] for size in (*range(4), 10, 100, 1000, len(bounds) - 1)]
    checked = require_noise(type(one).one, noise, [*tried, factor])
    return _conclude(
        f"({epsilon}, {float(beyond):.6g})-DP for every pair of databases of any size ({neighbours}), by both paths",
        ("rounded-mean", "smooth-bound", "smooth-sensitivity", "every-scale"),
        checked,
        {"records": record.tried, "bounds": len(bounds), "small databases": require_local_sensitivity()},
    )
