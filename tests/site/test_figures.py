"""The touchable figures: their data are what the lab computes, their texts exist in both languages, a browser obeys.

The tests of the first part need no browser. The others open a page with one figure from a file.
"""

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab import PrivacyClaim, advantage, one_uniform, step_law
from attacklab.attacks.samplers import TEXTBOOK, reachable
from experiments.touchable import FIGURES, betting, which_database
from mechanisms.exponential.naive import naive_exponential
from tests.site.conftest import Visit, watched
from tests.site.figures import FOLDER, NAMES, ROOT, block, cells, data, document, press, said, shown, texts, words

LANGUAGES = ("en", "zh-CN")
NARROW = {"width": 320, "height": 568}
ONE_EACH = list({figure.split()[0]: figure for figure in shown()}.values())
"""Every figure once, with one of its games."""

PLACEHOLDER = re.compile(r"\{\w+\}")
MOST_ROUNDING = 2e-6
"""Numbers other than doubles in hexadecimal are written with six decimals."""


def alike(one: Any, other: Any) -> bool:
    """Whether two documents are equal but for the rounding of numbers that are no integers."""
    if isinstance(one, float) or isinstance(other, float):
        return abs(one - other) <= MOST_ROUNDING
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def masses_of(leaves: dict[str, int]) -> list[Fraction]:
    """The probability of each of the three outcomes at the leaves of a coin tree."""
    masses = [Fraction(0)] * 3
    for coins, outcome in leaves.items():
        masses[outcome] += Fraction(1, 2 ** len(coins))
    return masses


# Without a browser


@pytest.mark.parametrize("name", NAMES)
def test_the_data_are_what_the_lab_computes(name: str) -> None:
    assert alike(json.loads(json.dumps(FIGURES[name]())), data(name))


def test_every_figure_has_its_script_its_data_its_texts_and_a_lesson_which_it_opens() -> None:
    pages = [path.read_text("utf-8") for path in (ROOT / "docs" / "lessons").glob("[0-9]*.md")]
    openings = [re.findall(r"(?m)^```\{touchable\} (.+)\n```$", page.partition("\n## ")[0]) for page in pages]
    assert sorted(figure for figures in openings for figure in figures) == sorted(shown())
    assert all(len(figures) == 1 for figures in openings)
    first_page = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert "```{touchable} noisy_doubles\n```" in first_page.split("\n\n")[2]
    assert sorted(NAMES) == sorted(FIGURES)
    assert {f"which_database {game}" for game in which_database.GAMES} < set(shown())
    assert {path.stem for path in FOLDER.glob("*.json")} == {*NAMES, "texts"}
    assert {path.stem for path in FOLDER.glob("*.js")} == {*NAMES, "figure"}


def test_both_languages_have_the_same_texts_with_the_same_placeholders() -> None:
    found = texts()
    assert set(found) == {"en", "zh"}
    assert found["en"].keys() == found["zh"].keys()
    assert {name.partition(".")[0] for name in found["en"]} == {"page", *NAMES}
    for figure, english in found["en"].items():
        chinese = found["zh"][figure]
        assert english.keys() == chinese.keys(), figure
        for key, sentence in english.items():
            assert sentence.strip()
            assert sorted(PLACEHOLDER.findall(sentence)) == sorted(PLACEHOLDER.findall(chinese[key])), (figure, key)


def test_the_block_shows_a_sentence_where_no_script_runs_and_its_data_cannot_end_it() -> None:
    pytest.importorskip("sphinx", reason="needs the packages that `make docs` installs")
    written = block("coin_tree", "zh")
    script = re.search(r"<script[^>]*>(.*)</script>\n<noscript>", written)
    assert script is not None
    assert "</" not in script[1]
    assert json.loads(script[1])["texts"]["en"] == texts()["en"]["coin_tree"]
    assert texts()["zh"]["page"]["noscript"] in written


def test_the_printed_sampler_never_draws_the_third_outcome() -> None:
    samplers = data("coin_tree")["samplers"]
    assert [sampler["law"] for sampler in samplers if sampler["printed"]] == [["1/2", "1/2", "0"]]
    for sampler in samplers:
        masses, law = masses_of(sampler["leaves"]), [Fraction(mass) for mass in sampler["law"]]
        assert sum(law) == 1
        assert all(0 <= limit - mass <= Fraction(1, 8) for limit, mass in zip(law, masses, strict=True))


def test_the_sound_mechanism_is_never_refuted_and_the_worst_leak_always_is() -> None:
    found = data("betting")
    least, *_, highest = [level["enough"] for level in found["levels"]]
    assert all(max(run["wealth"]) < least for run in found["sound"]["runs"])
    assert all(max(run["wealth"]) > highest for run in found["leaking"][-1]["runs"])
    assert found["sound"]["spent"] < betting.CLAIM.epsilon < found["leaking"][0]["spent"]


# In a browser


@pytest.fixture
def figure(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Opens a figure in a language; keywords are those of a Playwright context. At the end nothing may have failed."""
    visits: list[Visit] = []
    with contextlib.ExitStack() as stack:

        def open_figure(name: str, language: str = "en", **settings: Any) -> Visit:
            file = tmp_path / f"{name}_{language}.html"
            file.write_text(document(name, language), encoding="utf-8")
            context = browser.new_context(**settings)
            stack.callback(context.close)
            visits.append(visited := watched(context.new_page(), "file://"))
            visited.page.goto(file.as_uri())
            visited.page.wait_for_selector(
                "figure.touchable[data-ready] svg > *, figure.touchable[data-ready] .lines td", state="attached"
            )
            return visited

        yield open_figure
    for visited in visits:
        assert visited.errors == visited.outside == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", shown())
def test_a_figure_speaks_the_pages_language_and_on_the_narrowest_phone_nothing_is_cut(
    name: str, language: str, figure: Callable[..., Visit]
) -> None:
    """What is wider than the figure lies in a part of it that scrolls; the site leaves 288 of 320 pixels."""
    page = figure(name, language, viewport=NARROW).page
    written = page.locator("figure").inner_text()
    assert page.locator("figcaption strong").inner_text() == words(name, language[:2])["title"]
    assert not PLACEHOLDER.search(written)
    assert "undefined" not in written
    assert "NaN" not in page.content().split("<noscript>")[-1]
    assert bool(re.search(r"[\u4e00-\u9fff]", written)) == (language == "zh-CN")
    page.add_style_tag(content="body { margin: 0 1rem; }")
    choices = page.locator(".touchable select")
    cut = """() => {
      const edge = document.querySelector('figure').getBoundingClientRect().right;
      const inside = (one) => one.getBoundingClientRect().right <= edge;
      const scroller = (one) => one.closest('.wide, .result');
      const reached = (one) => scroller(one) && inside(scroller(one))
        && ['auto', 'scroll'].includes(getComputedStyle(scroller(one)).overflowX);
      return [...document.querySelectorAll('.touchable :is(td, th, button, input, select, svg)')]
        .filter((one) => !inside(one) && !reached(one)).map((one) => one.textContent || one.tagName);
    }"""
    for number in range(choices.count()):
        for option in range(choices.nth(number).locator("option").count()):
            choices.nth(number).select_option(index=option)
            assert page.evaluate(cut) == []
            assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert page.evaluate(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]


@pytest.mark.parametrize("name", ONE_EACH)
def test_every_control_is_reached_by_the_tab_key_and_shows_the_focus(name: str, figure: Callable[..., Visit]) -> None:
    page = figure(name).page
    controls = page.locator(".touchable :is(input, select, button):not(:disabled)")
    for number in range(controls.count()):
        page.keyboard.press("Tab")
        assert controls.nth(number).evaluate("(one) => one === document.activeElement")
        assert controls.nth(number).evaluate("(one) => getComputedStyle(one).outlineStyle") == "solid"
        assert controls.nth(number).evaluate("(one) => Boolean(one.labels?.length || one.ariaLabel || one.textContent)")


def test_two_laws_follow_the_sliders(figure: Callable[..., Visit]) -> None:
    page = figure("two_laws").page
    found = data("two_laws")

    def agrees(low: int, high: int, distance: int) -> None:
        pair = found["pairs"][distance - 1]
        p, q = (Fraction(sum(law[low : high + 1]), found["unit"]) for law in (found["first"], pair["second"]))
        needed = max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))
        shown = [row[1].split(" = ") for row in cells(page)]
        assert [words[0] for words in shown[:2]] == [str(p), str(q)]
        # Three decimals are shown, and half a unit of the last may be rounded either way.
        numbers = [float(words[-1].replace("−", "-")) for words in shown]
        assert numbers == pytest.approx([float(p), float(q), float(p - q), needed], abs=5.01e-4)
        key = "breaks" if needed > found["epsilon"] + 1e-5 else "keeps"
        assert said(page).endswith(texts()["en"]["two_laws"][key].split(". ")[-1])

    agrees(8, 12, 1)
    press(page, "Answers apart by", "ArrowRight", 2)
    agrees(8, 12, 3)
    press(page, "Event from", "ArrowLeft", 3)
    agrees(5, 12, 3)
    press(page, "to", "ArrowLeft", 8)
    agrees(4, 4, 3)


def test_a_weight_becomes_0_as_in_the_mechanism_itself(figure: Callable[..., Visit]) -> None:
    page = figure("vanishing_weight").page
    slider = page.get_by_label("Utility of the better outcome", exact=True)
    ceiling = PrivacyClaim(0.5).ceiling
    for utility, word in ((-2940.0, "above 0"), (-2977.0, "above 0"), (-2980.0, "names the database")):
        slider.fill(str(int((-2940 - utility) * 4)))
        pair = [[utility, utility - 1], [utility - 1, utility]]
        laws = [step_law(one_uniform(naive_exponential, utilities, epsilon=0.5)) for utilities in pair]
        exact = float(advantage(*laws).lower)
        rows = cells(page)
        assert [row[3] for row in rows] == [f"{float(laws[0].mass(outcome)):.3f}" for outcome in (0, 1)]
        weights = np.exp(0.25 * np.array(pair[0]))
        assert [float(row[2].replace("−", "-")) for row in rows] == weights.tolist()
        assert word in said(page)
        assert f"{exact:.3f}" in said(page)
        assert f"{ceiling:.3f}" in said(page)
    assert exact == 1
    press(page, "Utility of the better outcome", "End")
    assert said(page) == texts()["en"]["vanishing_weight"]["none"]
    assert slider.get_attribute("aria-valuetext") == "−2984"


def test_a_bet_is_judged_and_the_doubles_shown_are_those_that_the_attack_of_the_lab_finds(
    figure: Callable[..., Visit],
) -> None:
    """The lab's own attack, with the browser's logarithm, says of every double shown where it can come from."""
    page = figure("noisy_doubles").page
    answers = page.locator(".touchable button.first, .touchable button.second")
    bits = page.locator(".bits button")

    def browser_log(numbers: np.ndarray[Any, Any]) -> Any:
        return np.array(page.evaluate("(numbers) => numbers.map(Math.log)", np.ravel(numbers).tolist())).reshape(
            np.shape(numbers)
        )

    def output() -> float:
        return float.fromhex(page.locator(".output code").inner_text())

    def agrees(epsilon: float) -> int:
        y = output()
        model = replace(TEXTBOOK, log=browser_log)
        magnitudes = np.abs(np.array([y])).view(np.int64) + np.arange(-32, 33)
        doubles = np.copysign(magnitudes.view(np.float64), y)[slice(1, None) if y < 0 else slice(-1)]
        from_0, from_1 = (reachable(doubles, answer, 1 / epsilon, model) for answer in (0.0, 1.0))
        assert page.locator("svg rect.first").count() == (from_0 & ~from_1).sum()
        assert page.locator("svg rect.second").count() == (from_1 & ~from_0).sum()
        assert page.locator("svg rect.both").count() == 2 * (from_0 & from_1).sum()
        assert page.locator("svg rect.nowhere").count() == (~from_0).sum() + (~from_1).sum()
        assert page.locator("svg rect.covered").count() == 0
        itself = int(np.flatnonzero(doubles == y)[0])
        return int(from_0[itself]) + 2 * int(from_1[itself])

    sentences = texts()["en"]["noisy_doubles"]
    assert said(page) == sentences["bet_first"].format(width=100)
    # Nothing is told before the bet.
    assert page.locator("svg rect.covered").count() == 128
    assert page.locator("svg rect:is(.first, .second, .both, .nowhere)").count() == 0
    for epsilon, steps in ((0.01, 0), (0.1, 2), (2.0, 3)):
        press(page, "Privacy parameter ε", "ArrowLeft", steps)
        page.get_by_role("button", name="Next answer").click()
        answers.nth(1).click()
        lines = said(page).split("\n")
        truth = int(lines[0][-2])
        assert lines[0] == sentences["you_right" if truth == 1 else "you_wrong"].format(answer=truth)
        assert f"({truth} of 1 bets right)" in (page.locator("figure svg").nth(1).text_content() or "")
        origin = agrees(epsilon)
        assert origin & (1, 2)[truth]
        assert lines[1].startswith("The attack: both" if origin == 3 else f"The attack: only the count {truth} can")
        before = output()
        bits.last.click()
        assert abs(output() - before) == np.spacing(abs(before))
        made = ("made_neither", "made_0", "made_1", "made_both")
        assert said(page) == sentences[made[agrees(epsilon)]]
    page.get_by_role("button", name="100 more").click()
    assert "of 101 right)" in (page.locator("figure svg").nth(1).text_content() or "")
    # What was told stays when ε moves, and the marks follow.
    possible = 3
    for epsilon in (1.0, 0.5, 0.1):
        press(page, "Privacy parameter ε", "ArrowRight")
        possible &= agrees(epsilon)
    assert possible  # the count that the coin chose


def test_a_game_tells_the_database_after_the_bet_and_counts_what_was_right(figure: Callable[..., Visit]) -> None:
    page = figure("which_database lost_weights").page
    rounds = data("which_database")["lost_weights"]["rounds"]
    sentences = words("which_database lost_weights", "en")
    names = ("D", "D′")
    right = 0
    for number, (database, output, named, factor) in enumerate(rounds[:6], 1):
        assert page.locator(".output").inner_text() == sentences["published"].format(output=output)
        assert said(page) == sentences["bet_first"]
        page.get_by_role("button", name=re.compile("^D the")).click()
        right += database == 0
        lines = said(page).split("\n")
        assert lines[0] == sentences["you_right" if database == 0 else "you_wrong"].format(database=names[database])
        assert lines[1].startswith(f"The attack says {names[named]}")
        assert (f"{factor:g} times" in lines[1]) == (factor > 0)
        assert f"({right} of {number} bets right)" in (page.locator("figure svg").text_content() or "")
        page.get_by_role("button", name="Next round").press("Enter")
    for _ in range(6):
        page.get_by_role("button", name="Ten more").click()
    attack = sum(database == named for database, _, named, _ in rounds)
    assert f"({attack} of {len(rounds)} right)" in (page.locator("figure svg").text_content() or "")
    assert sentences["done"] in said(page)
    page.get_by_role("button", name="Start again").click()
    assert said(page) == sentences["bet_first"]


def test_sums_are_those_of_python_in_every_order(figure: Callable[..., Visit]) -> None:
    page = figure("order_of_sums").page

    def agrees(numbers: list[float]) -> None:
        rows = cells(page)
        assert [float(row[0].replace("−", "-")) for row in rows] == numbers
        sums = list(accumulate(numbers))
        assert [float(row[1].split("\n")[0].replace("−", "-")) for row in rows] == sums
        for before, (number, total, row) in zip([0.0, *sums], zip(numbers, sums, rows, strict=True), strict=False):
            error = Fraction(total) - Fraction(before) - Fraction(number)
            assert ("rounding error" in row[1]) == (error != 0)
            if error:
                assert float(row[1].split()[-1].replace("−", "-")) == pytest.approx(float(error), rel=5e-3)
        assert sums[-1].hex() in said(page)

    tenths = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    agrees(tenths)
    page.get_by_role("button", name="Reverse").click()
    agrees(tenths[::-1])
    page.get_by_label("Numbers", exact=True).select_option(label="large numbers that cancel")
    agrees([1e16, 1.0, -1e16, 1.0, 0.5])
    page.get_by_role("button", name="Smallest first").click()
    agrees([-1e16, 0.5, 1.0, 1.0, 1e16])
    page.get_by_role("button", name="Largest first").click()
    agrees([1e16, 1.0, 1.0, 0.5, -1e16])


def test_coins_lead_down_the_tree_to_the_law(figure: Callable[..., Visit]) -> None:
    page = figure("coin_tree").page
    samplers = data("coin_tree")["samplers"]

    def agrees(sampler: dict[str, Any], depth: int) -> None:
        leaves = {coins: outcome for coins, outcome in sampler["leaves"].items() if len(coins) <= depth}
        masses = masses_of(leaves)
        rows = cells(page)
        assert [row[1] for row in rows] == [str(mass) for mass in (*masses, 1 - sum(masses))]
        assert [row[2] for row in rows] == [*sampler["law"], "0"]
        assert page.locator("svg").first.locator("rect").count() == len(leaves)

    agrees(samplers[0], 4)
    press(page, "Depth of the tree, in coins", "End")
    agrees(samplers[0], 6)
    press(page, "Depth of the tree, in coins", "Home")
    agrees(samplers[0], 0)
    one, zero = (page.get_by_role("button", name=f"Coin shows {coin}") for coin in (1, 0))
    one.click()
    one.press("Enter")
    assert "1 1: rejected" in said(page)
    agrees(samplers[0], 2)
    zero.press("Space")
    one.click()
    assert "1 1 0 1: outcome 2" in said(page)
    one.click()
    assert said(page) == "Coins 1: not decided yet."
    page.get_by_role("button", name="Start again").click()
    assert said(page) == "No coin tossed yet."
    for number, sampler in enumerate(samplers):
        page.get_by_label("Sampler", exact=True).select_option(str(number))
        agrees(sampler, 4)


def test_the_gamblers_wealth_follows_the_trials(figure: Callable[..., Visit]) -> None:
    page = figure("betting").page
    found = data("betting")

    def agrees(leak: int, run: int, level: int, look: int) -> None:
        enough = found["levels"][level]["enough"]
        for row, mechanism in zip(cells(page), (found["sound"], found["leaking"][leak]), strict=True):
            seen = mechanism["runs"][run]
            assert row[1] == f"{seen['first'][look - 1]:,} / {seen['second'][look - 1]:,}"
            assert float(row[2].removeprefix("10").replace("−", "-")) == pytest.approx(
                seen["wealth"][look - 1], abs=0.006
            )
            crossed = next((at for at, wealth in enumerate(seen["wealth"][:look], 1) if wealth >= enough), None)
            assert row[3] == (f"after {crossed * found['look']:,} trials" if crossed else "not yet")
        assert (f"refuted (since trial {crossed * found['look']:,})" if crossed else "neither") in said(page)

    agrees(3, 0, 2, 20)
    press(page, "Trials so far", "End")
    agrees(3, 0, 2, 100)
    press(page, "The leaking one spends", "Home")
    agrees(0, 0, 2, 100)
    page.get_by_label("Run", exact=True).select_option("2")
    agrees(0, 2, 2, 100)
    page.get_by_label("The leaking one spends", exact=True).fill("5")
    page.get_by_label("False alarms allowed, α", exact=True).select_option("0")
    agrees(5, 2, 0, 100)
    press(page, "Trials so far", "Home")
    press(page, "Trials so far", "ArrowRight")
    agrees(5, 2, 0, 2)
