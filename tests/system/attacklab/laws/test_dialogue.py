"""Laws of programs that ask for their randomness line by line: exact, or refused."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
from collections.abc import Callable, Generator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from gmpy2 import mpq

from attacklab.laws import Law, LawError, Limits, NeverEnds, NotDeterministic, Progress
from attacklab.laws.dialogue import Dialogue
from attacklab.laws.errors import SamplerFailed
from attacklab.laws.external_program import outcome
from attacklab.laws.requests import NotInProtocol
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.random_bits import SeededBits, TapedBits
from tests.system.attacklab.laws.generators import Generated, Lines, stateless

SCALE = 3


def law_of(program: Callable[[Any], Lines], input_: Any = 0, **limits: Any) -> Law:
    return Dialogue(stateless(program)).law(input_, limits=Limits(**limits))


def randomized_response(input_: int) -> Lines:
    lie = yield "coin 1 4"
    yield f"output {input_ ^ lie}"


def three(_: int) -> Lines:
    """Uniform in {0, 1, 2}, from two bits a round."""
    while True:
        yield "begin round three"
        drawn = yield "take 2"
        if drawn < 3:
            break
        yield "end round rejected"
    yield f"end round accepted {drawn}"
    yield f"output {drawn}"


def exp(numerator: int, denominator: int) -> Generator[str, int, int]:
    yield f"begin call exp {numerator} {denominator}"
    k = 1
    while (yield f"coin {numerator} {denominator * k}"):
        k += 1
    yield f"end call {k % 2}"
    return k % 2


def discrete_laplace(input_: int) -> Lines:
    while True:
        yield f"begin round laplace {SCALE}"
        fraction = yield f"below {SCALE}"
        if (yield from exp(fraction, SCALE)):
            whole = 0
            while (yield from exp(1, 1)):
                whole += 1
            negative = yield "coin 1 2"
            noise = fraction + SCALE * whole
            if noise or not negative:
                break
        yield "end round rejected"
    noise = -noise if negative else noise
    yield f"end round accepted {noise}"
    yield f"output {input_ + noise}"


def test_a_program_of_coins_has_a_closed_law() -> None:
    law = law_of(randomized_response)
    assert law.closed
    assert law == Law({0: Fraction(3, 4), 1: Fraction(1, 4)})


def test_the_replies_to_each_request_have_its_law() -> None:
    def program(_: int) -> Lines:
        bits, integer, coin = (yield "take 3"), (yield "below 5"), (yield "coin 2 7")
        yield f"output {bits} {integer} {coin}"

    expected = {
        (bits, integer, coin): mpq(1, 40) * (mpq(2, 7) if coin else mpq(5, 7))
        for bits, integer, coin in itertools.product(range(8), range(5), range(2))
    }
    assert law_of(program) == Law(expected)


def test_draws_that_are_certain_do_not_fork() -> None:
    def program(_: int) -> Lines:
        yield f"output {(yield 'take 0')} {(yield 'below 1')} {(yield 'coin 0 5')} {(yield 'coin 5 5')}"

    assert law_of(program) == Law({(0, 0, 0, 1): 1})


def test_numbers_may_have_hundreds_of_digits() -> None:
    def program(_: int) -> Lines:
        yield f"output {(yield f'coin 1 {10**900}')}"

    assert law_of(program, unresolved=0).mass(1) == mpq(1, 10**900)


def test_a_program_that_draws_nothing_has_one_outcome() -> None:
    def program(input_: int) -> Lines:
        yield f"output {input_}"

    assert law_of(program, 7) == Law({7: 1})


def test_outputs_are_told_apart_by_their_bits_and_not_by_their_text() -> None:
    def program(_: int) -> Lines:
        words = ["0x0p+0", "-0x0p+0", "0x1.8p+1", "0x1.80p+1", "nan", "-inf", "null", "true 1", ""]
        yield f"output {words[(yield 'below 9')]}".rstrip()

    law = law_of(program)
    assert len(law) == 8
    assert law.mass(3.0) == mpq(2, 9)
    assert law.mass(-0.0) == law.mass(0.0) == law.mass(math.nan) == law.mass(None) == mpq(1, 9)
    assert law.mass((True, 1)) == law.mass(()) == mpq(1, 9)


def test_a_loop_that_is_not_declared_is_unrolled() -> None:
    def program(_: int) -> Lines:
        failures = 0
        while not (yield "coin 1 2"):
            failures += 1
        yield f"output {failures}"

    law = law_of(program, unresolved=Fraction(1, 1 << 62))
    assert law.unresolved <= mpq(1, 1 << 62)
    assert law.mass(5) == mpq(1, 64)


def test_a_declared_loop_counts_the_rejections_that_were_run_and_leaves_the_rest_open() -> None:
    law = law_of(three, unresolved=Fraction(1, 1 << 62))
    assert 0 < law.unresolved <= mpq(1, 1 << 62)
    assert all(mpq(1, 3) - law.unresolved <= law.mass(value) <= mpq(1, 3) for value in range(3))


def test_a_loop_that_rejects_nearly_always_stays_open_beyond_the_rejections_that_can_be_run() -> None:
    def program(_: int) -> Lines:
        while True:
            yield "begin round rare"
            if (yield "coin 1 1000"):
                break
            yield "end round rejected"
        yield "end round accepted"
        yield "output 0"

    left = float(law_of(program).unresolved)
    assert left == pytest.approx((1 - 1e-3) ** 4097)


def test_calls_and_rounds_nest() -> None:
    law = law_of(discrete_laplace, 4, unresolved=Fraction(1, 1 << 40))
    assert law.unresolved <= mpq(1, 1 << 40)
    ratio = math.exp(-1 / SCALE)
    for noise in range(-9, 10):
        expected = (1 - ratio) / (1 + ratio) * ratio ** abs(noise)
        assert float(law.mass(4 + noise)) == pytest.approx(expected, rel=1e-9)


def test_the_law_of_a_call_is_found_once_for_all_inputs() -> None:
    def program(input_: int) -> Lines:
        total = input_
        for denominator in (2, 3, 2, 3):
            yield f"begin call coin {denominator}"
            shown = yield f"coin 1 {denominator}"
            yield f"end call {shown}"
            total += shown
        yield f"output {total}"

    dialogue = Dialogue(stateless(program))
    assert dialogue.law(0).mass(4) == mpq(1, 36)
    laws: list[int] = []
    assert dialogue.law(7, progress=lambda at: laws.append(at.laws)).mass(11) == mpq(1, 36)
    assert set(laws) == {2}


def test_what_was_found_is_run_again_in_other_processes() -> None:
    program = stateless(three)
    Dialogue(program).law(0)
    assert program.processes >= 2 * 4


def test_progress_is_reported_from_the_first_run() -> None:
    seen: list[Progress] = []
    Dialogue(stateless(three)).law(0, progress=seen.append)
    assert seen[0].runs == 1


def test_a_search_that_runs_out_of_runs_or_time_leaves_mass_open() -> None:
    def program(_: int) -> Lines:
        yield f"output {(yield 'below 1000')}"

    assert float(law_of(program, runs=10).unresolved) == pytest.approx(0.99)
    hurried = Dialogue(stateless(program), seconds=1e-9).law(0)
    assert float(hurried.unresolved) == pytest.approx(0.999)
    with pytest.raises(UsageError, match="seconds must be greater than 0"):
        Dialogue(stateless(program), seconds=0)


def test_a_loop_of_which_no_accepted_round_was_found_in_time_stays_open() -> None:
    def program(_: int) -> Lines:
        if not (yield "coin 1 4"):
            yield "output 0"
            return
        while True:
            yield "begin round one"
            if (yield "take 1"):
                break
            yield "end round rejected"
        yield "end round accepted"
        yield "output 1"

    law = law_of(program, runs=3)
    assert law.mass(1) == 0
    assert float(law.unresolved) == pytest.approx(1 / 4)
    assert law_of(program).mass(1) > 0


def test_a_single_run_draws_from_given_bits() -> None:
    program = stateless(three)
    assert outcome(program, 0, TapedBits(0b111101, 6)) == 1
    counts = [outcome(stateless(randomized_response), 0, SeededBits(seed)) for seed in range(400)]
    assert 40 < sum(counts) < 180  # exact binomial tails below 1e-9 on either side


# False programs: none of them may have a law that it does not have.


def keeps_state_between_rounds(_: int) -> Lines:
    tries = 0
    while True:
        yield "begin round two"
        if (yield f"coin {min(1 + tries, 3)} 4"):
            break
        tries += 1
        yield "end round rejected"
    yield "end round accepted"
    yield f"output {tries}"


def counts_its_rejections(_: int) -> Lines:
    tries = 0
    while True:
        yield "begin round half"
        drawn = yield "take 2"
        if drawn < 2:
            break
        tries += 1
        yield "end round rejected"
    yield f"end round accepted {drawn}"
    yield f"output {drawn + 10 * min(tries, 1)}"


def gives_up(after: int) -> Callable[[int], Lines]:
    def program(_: int) -> Lines:
        for _ in range(after):
            yield "begin round half"
            drawn = yield "take 3"
            if drawn < 4:
                yield f"end round accepted {drawn}"
                break
            yield "end round rejected"
        else:
            drawn = 0
        yield f"output {drawn}"

    return program


def changes_after_23_rejections(_: int) -> Lines:
    tries = 0
    while True:
        yield "begin round half"
        drawn = yield "take 3"
        if drawn < 4:
            break
        tries += 1
        yield "end round rejected"
    yield f"end round accepted {drawn + (tries == 23)}"
    yield f"output {drawn + (tries == 23)}"


def accepts_anything_at_last(_: int) -> Lines:
    for tries in range(41):
        yield "begin round half"
        drawn = yield "take 3"
        if drawn < 4 or tries == 40:
            break
        yield "end round rejected"
    yield f"end round accepted {drawn}"
    yield f"output {drawn}"


def names_too_few_arguments(_: int) -> Lines:
    total = 0
    for scale in (2, 3):
        yield "begin call bernoulli"
        drawn = yield f"coin 1 {scale}"
        yield f"end call {drawn}"
        total += drawn
    yield f"output {total}"


def depends_on_its_input(input_: int) -> Lines:
    yield "begin call noise"
    drawn = yield f"coin 1 {2 + input_}"
    yield f"end call {drawn}"
    yield f"output {drawn}"


def answers_differ_within_equal_names(_: int) -> Lines:
    total = 0
    for sign in (1, -1):
        yield "begin round sign"
        drawn = yield "below 3"
        yield f"end round accepted {sign * drawn}"
        total += sign * drawn
    yield f"output {total}"


def uses_more_than_it_ended_with(_: int) -> Lines:
    yield "begin call geometric"
    drawn = 0
    while (yield "coin 1 2"):
        drawn += 1
    yield f"end call {min(drawn, 5)}"
    yield f"output {min(drawn, 8)}"


def uses_more_than_it_ended_with_in_one_branch(_: int) -> Lines:
    yield "begin call geometric"
    drawn = 0
    while (yield "coin 1 2"):
        drawn += 1
    yield f"end call {min(drawn, 5)}"
    branch = yield "below 3"
    yield f"output {branch} {min(drawn, 8 if branch == 2 else 5)}"


def differs_at_one_of_many_leaves_the_fifth_time(_: int) -> Lines:
    values = []
    for time_ in range(5):
        yield "begin call bit"
        drawn = yield "take 12"
        values.append(2 if time_ == 4 and drawn == 3001 else drawn & 1)
        yield f"end call {values[-1]}"
    yield "output " + " ".join(map(str, values))


def differs_at_one_of_many_rejected_leaves_the_fifth_time(_: int) -> Lines:
    for time_ in range(5):
        yield "begin round even"
        while (drawn := (yield "take 12")) & 1 and not (time_ == 4 and drawn == 3001):
            yield "end round rejected"
            yield "begin round even"
        yield "end round accepted"
    yield "output 0"


def clamps_a_rare_value_the_second_time(_: int) -> Lines:
    total = 0
    for most in (99, 9):
        yield "begin call geometric"
        drawn = 0
        while (yield "coin 1 2"):
            drawn += 1
        yield f"end call {min(drawn, most)}"
        total += min(drawn, most)
    yield f"output {total}"


@pytest.mark.parametrize(
    "program",
    [
        keeps_state_between_rounds,
        counts_its_rejections,
        pytest.param(gives_up(3), id="gives_up_after_3"),
        pytest.param(gives_up(20), id="gives_up_after_20"),
        pytest.param(gives_up(70), id="gives_up_after_70"),
        changes_after_23_rejections,
        accepts_anything_at_last,
        names_too_few_arguments,
        answers_differ_within_equal_names,
        uses_more_than_it_ended_with,
        uses_more_than_it_ended_with_in_one_branch,
        clamps_a_rare_value_the_second_time,
        differs_at_one_of_many_leaves_the_fifth_time,
        differs_at_one_of_many_rejected_leaves_the_fifth_time,
    ],
)
def test_a_program_whose_calls_or_rounds_are_not_what_they_say_is_refused(program: Callable[[int], Lines]) -> None:
    with pytest.raises(LawError) as refusal:
        law_of(program, unresolved=Fraction(1, 1 << 62))
    assert "\n" not in str(refusal.value)


def test_a_call_that_depends_on_the_input_is_refused_at_the_second_input() -> None:
    dialogue = Dialogue(stateless(depends_on_its_input))
    dialogue.law(0)
    with pytest.raises(NotDeterministic, match=r"inside 'begin call noise' .* 'coin 1 3' where .* 'coin 1 2'"):
        dialogue.law(1)


def test_a_call_that_depends_on_the_input_in_one_of_its_many_leaves_is_refused_at_the_second_input() -> None:
    def program(input_: int) -> Lines:
        yield "begin call bit"
        drawn = yield "take 12"
        value = 2 if input_ and drawn == 1234 else drawn & 1
        yield f"end call {value}"
        yield f"output {value}"

    dialogue = Dialogue(stateless(program))
    assert dialogue.law(0) == Law({0: mpq(1, 2), 1: mpq(1, 2)})
    with pytest.raises(NotDeterministic, match="inside 'begin call bit'"):
        dialogue.law(1)


def test_a_loop_that_depends_on_the_input_in_one_of_its_many_leaves_is_refused_at_the_second_input() -> None:
    def program(input_: int) -> Lines:
        yield "begin round bit"
        while not (drawn := (yield "take 12")) & 1:
            yield "end round rejected"
            yield "begin round bit"
        value = 4 if input_ and drawn == 1235 else drawn & 2
        yield f"end round accepted {value}"
        yield f"output {value}"

    dialogue = Dialogue(stateless(program))
    dialogue.law(0)
    with pytest.raises(NotDeterministic, match="inside 'begin round bit'"):
        dialogue.law(1)


def answers_from_the_previous_input() -> Callable[[int], Lines]:
    previous = 0

    def program(input_: int) -> Lines:
        nonlocal previous
        answered, previous = previous, input_
        yield f"output {answered + (yield 'coin 1 2')}"

    return program


def test_a_program_that_answers_from_the_previous_input_is_refused() -> None:
    dialogue = Dialogue(Generated(answers_from_the_previous_input))
    dialogue.law(0)
    with pytest.raises(NotDeterministic):
        dialogue.law(1)


def differs_in_its_first_run() -> Callable[[int], Lines]:
    first = True

    def program(_: int) -> Lines:
        nonlocal first
        added, first = int(first), False
        yield f"output {added + (yield 'below 50')}"

    return program


def keeps_a_spare() -> Callable[[int], Lines]:
    spare: list[int] = []

    def program(_: int) -> Lines:
        if not spare:
            both = yield "take 4"
            spare.extend(divmod(both, 4))
        yield f"output {spare.pop()}"

    return program


def differs_every_thousandth_run() -> Callable[[int], Lines]:
    runs = itertools.count()

    def program(_: int) -> Lines:
        flipped = next(runs) % 1000 == 999
        yield f"output {(yield 'below 300') + 300 * flipped}"

    return program


def draws_elsewhere() -> Callable[[int], Lines]:
    """It is missed with probability 2^−100: there are 50 leaves, each run three times."""

    def program(_: int) -> Lines:
        yield f"output {(yield 'below 50') + (os.urandom(1)[0] & 1)}"

    return program


def looks_at_the_clock() -> Callable[[int], Lines]:
    def program(_: int) -> Lines:
        yield f"output {(yield 'below 50') + time.perf_counter_ns()}"

    return program


def depends_on_its_process() -> Callable[[int], Lines]:
    mine = next(PROCESSES)

    def program(_: int) -> Lines:
        yield f"output {(yield 'below 50') + mine % 2}"

    return program


PROCESSES = itertools.count()


@pytest.mark.parametrize(
    "process",
    [
        differs_in_its_first_run,
        keeps_a_spare,
        differs_every_thousandth_run,
        draws_elsewhere,
        looks_at_the_clock,
        depends_on_its_process,
    ],
)
def test_a_program_that_is_no_function_of_its_replies_is_refused(process: Callable[[], Callable[[Any], Lines]]) -> None:
    with pytest.raises(NotDeterministic, match="where it had written"):
        Dialogue(Generated(process)).law(0)


def test_after_a_refusal_a_dialogue_knows_nothing_of_what_it_refused() -> None:
    dialogue = Dialogue(stateless(names_too_few_arguments))
    for _ in range(2):
        with pytest.raises(NotDeterministic, match="begin call bernoulli"):
            dialogue.law(0)


def test_the_dialogue_that_the_document_shows_is_one_that_a_program_can_have() -> None:
    def below_three(input_: int) -> Lines:
        while True:
            yield "begin round below_three"
            drawn = yield "take 2"
            if drawn < 3:
                break
            yield "end round rejected"
        yield f"end round accepted {drawn}"
        yield f"output {input_ + drawn}"

    text = (Path(__file__).parents[4] / "docs" / "reference" / "protocol.md").read_text("utf-8")
    request, *shown = re.findall(
        r"^    ([<>] .*?)(?:   .*)?$", text[text.index("One run, of a program") :], re.MULTILINE
    )
    program = stateless(below_three)
    program.begin(json.loads(request.removeprefix("< "))["input"], [line[2:] for line in shown if line[0] == "<"])
    lines = [line[2:] for line in shown if line[0] == ">"]
    assert lines[-1] == "output 6"
    assert [line for _ in lines for line in program.lines(1)] == lines


# What the protocol does not have.


def says(*lines: str) -> Callable[[int], Lines]:
    def program(_: int) -> Lines:
        yield from lines
        yield "output 0"

    return program


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["flip 3"], "write one line of the protocol: take K"),
        (["take"], "write one line of the protocol: take K"),
        ([""], "words of printable ASCII"),
        (["take  3"], "words of printable ASCII"),
        (["tåke 3"], "words of printable ASCII"),
        (["take 3\r"], "words of printable ASCII"),
        (["x" * 70_000], "at most 65536 characters"),
        (["take 18446744073709551616"], "at most 64 bits"),
        (["take 65"], "at most 64 bits"),
        (["take -1"], "not a decimal integer"),
        (["take 0x10"], "not a decimal integer"),
        (["coin 1 " + "9" * 1001], "at most 1000 digits"),
        (["take 17"], "ask for a coin, or for fewer bits"),
        (["below 65537"], "ask for a coin, or for fewer bits"),
        (["below 0"], "no integer below 0"),
        (["coin 3 2"], "0 <= N <= D"),
        (["coin 0 0"], "0 <= N <= D"),
        (["begin loop x"], "write one line of the protocol: take K"),
        (["begin call"], "write one line of the protocol: take K"),
        (["end call 3"], "outside any call or round"),
        (["begin round x", "end call"], "inside 'begin round x'"),
        (["begin call x", "end round rejected"], "inside 'begin call x'"),
        (["begin call x"], "inside 'begin call x'"),
        (["begin round x", "end round rejected", "begin round y"], "must begin the same round again"),
        (["begin round x", "end round rejected"], "must begin the same round again"),
        (["begin call x", "begin call x"], "lies within itself"),
        ([f"begin call {depth}" for depth in range(99)], "lies within 50 calls and rounds"),
        (["output 1.5"], "not an output"),
        (["output -0"], "not an output"),
        (["output 007"], "not an output"),
        (["output 0x1.00000000000001p+0"], "not an output"),
        (["output 0x1p-1075"], "not a binary64 number"),
        (["output 0x1p+1024"], "not a binary64 number"),
        (['{"outputs": [1]}'], "an answer for `audit`"),
        (["error the log of 0"], "the program says that it failed: the log of 0"),
    ],
)
def test_a_program_that_departs_from_the_protocol_is_refused_in_one_line(lines: list[str], message: str) -> None:
    with pytest.raises(TargetError, match=message) as refusal:
        law_of(says(*lines))
    assert "\n" not in str(refusal.value)
    assert isinstance(refusal.value, (NotInProtocol, SamplerFailed, LawError))


def test_a_program_that_never_ends_is_refused() -> None:
    def program(_: int) -> Lines:
        while True:
            yield "take 1"

    with pytest.raises(NeverEnds, match="500 lines in one run"):
        law_of(program, draws=500)


def test_a_loop_that_never_accepts_is_refused() -> None:
    def program(_: int) -> Lines:
        while True:
            yield "begin round never"
            yield "take 1"
            yield "end round rejected"

    with pytest.raises(NeverEnds):
        law_of(program, draws=500)
