"""Clients in other languages: each passes its exact mechanism, and catches the naive one and every altered file."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from tests.system.experiments.vector_files import FOLDER, vector_file

CLIENTS = FOLDER / "clients"
TYPES = ("calibration", "law", "pair", "rounding", "special", "sum", "tape", "trace")


@dataclass(frozen=True)
class Client:
    """A client, and what its example answers.

    Attributes:
        tools: programs that it needs.
        build: makes the example's command line in an empty folder.
        source: what a user copies, relative to `vectors/clients`.
        right: by type, each mechanism with the number of its cases that the exact example answers.
        caught: by type, the mechanisms in which the naive example fails.
    """

    tools: tuple[str, ...]
    build: Callable[[Path], list[str]]
    source: str
    right: Mapping[str, Mapping[str, int]]
    caught: Mapping[str, frozenset[str]]


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run([str(word) for word in command], cwd=cwd, check=True, capture_output=True, timeout=280)  # noqa: S603


def _c(folder: Path) -> list[str]:
    options = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-frounding-math"]
    options += ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    _run("gcc", *options, "-o", folder / "laplace", CLIENTS / "c" / "laplace.c", "-lm")
    return [str(folder / "laplace")]


def _rust(folder: Path) -> list[str]:
    crate = CLIENTS / "rust"
    target = ["--offline", "--quiet", "--release", "--target-dir", folder]
    _run("cargo", "test", *target, "--manifest-path", crate / "Cargo.toml")
    _run("cargo", "build", *target, "--manifest-path", crate / "Cargo.toml", "--example", "laplace")
    return [str(folder / "release" / "examples" / "laplace")]


def _java(folder: Path) -> list[str]:
    _run("javac", "-Xlint:all,-serial", "-Werror", "-d", folder, *sorted((CLIENTS / "java").glob("*.java")))
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(folder), "Laplace"]


def _javascript(_: Path) -> list[str]:
    package = CLIENTS / "javascript"
    _run("node", "--test", cwd=package)
    return ["node", str(package / "examples" / "laplace.js")]


LANGUAGES = {
    "c": Client(
        tools=("gcc",),
        build=_c,
        source="c/vectors.h",
        right={
            "calibration": {"laplace_epsilon": 16, "laplace_scale": 16},
            "law": {"two_sided_geometric": 10, "discrete_laplace": 14},
            "rounding": {"binary64": 7},
            "special": {"two_sided_geometric_on_a_range": 16},
            "trace": {"two_sided_geometric": 12, "discrete_laplace": 19},
        },
        caught={
            "calibration": frozenset({"laplace_epsilon", "laplace_scale"}),
            "law": frozenset({"two_sided_geometric", "discrete_laplace"}),
            "rounding": frozenset({"binary64"}),
            "special": frozenset({"two_sided_geometric_on_a_range"}),
            "trace": frozenset({"two_sided_geometric", "discrete_laplace"}),
        },
    ),
    "rust": Client(
        tools=("cargo", "rustc"),
        build=_rust,
        source="rust/src/lib.rs",
        right={
            "calibration": {"laplace_scale": 16},
            "law": {"uniform_below": 12, "bernoulli_exp": 14, "two_sided_geometric": 10, "discrete_laplace": 15},
            "rounding": {"binary64": 13},
            "special": {"two_sided_geometric_on_a_range": 16},
            "trace": {"bernoulli_exp": 11, "two_sided_geometric": 12, "discrete_laplace": 19},
        },
        caught={
            "calibration": frozenset({"laplace_scale"}),
            "law": frozenset({"two_sided_geometric", "discrete_laplace"}),
            "rounding": frozenset({"binary64"}),
            "special": frozenset({"two_sided_geometric_on_a_range"}),
            "trace": frozenset({"bernoulli_exp", "two_sided_geometric", "discrete_laplace"}),
        },
    ),
    "java": Client(
        tools=("javac", "java"),
        build=_java,
        source="java/Vectors.java",
        right={
            "calibration": {"laplace_scale": 16},
            "law": {"bernoulli_exp": 14, "two_sided_geometric": 10, "discrete_laplace": 15},
            "rounding": {"binary64": 39},
            "special": {"discrete_laplace_on_a_grid": 14},
            "trace": {"bernoulli_exp": 11, "two_sided_geometric": 12},
        },
        caught={
            "calibration": frozenset({"laplace_scale"}),
            "law": frozenset({"two_sided_geometric", "discrete_laplace"}),
            "rounding": frozenset({"binary64"}),
            "special": frozenset({"discrete_laplace_on_a_grid"}),
            "trace": frozenset({"bernoulli_exp", "two_sided_geometric"}),
        },
    ),
    "javascript": Client(
        tools=("node",),
        build=_javascript,
        source="javascript/index.js",
        right={
            "calibration": {"laplace_scale": 16},
            "law": {"bernoulli_exp": 14, "discrete_laplace": 15},
            "rounding": {"binary64": 39},
            "special": {"two_sided_geometric_on_a_range": 16},
            "trace": {"bernoulli_exp": 11, "discrete_laplace": 19},
        },
        caught={
            "calibration": frozenset({"laplace_scale"}),
            "law": frozenset({"discrete_laplace"}),
            "rounding": frozenset({"binary64"}),
            "special": frozenset({"two_sided_geometric_on_a_range"}),
            "trace": frozenset({"bernoulli_exp", "discrete_laplace"}),
        },
    ),
}


@dataclass(frozen=True)
class Built:
    """A client and the command of its example."""

    client: Client
    command: list[str]

    def run(self, *words: str | Path, **variables: str) -> tuple[int, str]:
        """Its exit status, and what it prints."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("VECTORS_")}
        done = subprocess.run(  # noqa: S603
            [*self.command, *map(str, words)],
            capture_output=True, text=True, check=False, timeout=280, env={**environment, **variables},
        )  # fmt: skip
        assert done.stderr == ""
        return done.returncode, done.stdout


@pytest.fixture(scope="module", params=LANGUAGES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    client = LANGUAGES[request.param]
    for tool in client.tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    return Built(client, client.build(tmp_path_factory.mktemp(request.param)))


LINE = re.compile(r"(ok|not ok) \d+ - (\w+) (\w+): (\d+) right, (\d+) wrong, (\d+) skipped( # SKIP .+)?")


def _groups(output: str) -> dict[tuple[str, str], tuple[int, int, int]]:
    """The counts of right, wrong and skipped cases by type and mechanism; every line of TAP must be well formed."""
    lines = output.splitlines()
    tests = [line for line in lines if not line.startswith("#")]
    assert re.fullmatch(r"# VECTORS_SEED=\d+, \d+ samples, alpha \S+", lines[0])
    assert tests.pop() == f"1..{len(tests)}"
    counts = {}
    for line in tests:
        match = LINE.fullmatch(line)
        assert match, line
        right, wrong, skipped = map(int, match.group(4, 5, 6))
        assert (match[1] == "not ok") == (wrong > 0)
        assert bool(match[7]) == (right == wrong == 0)
        counts[match[2], match[3]] = right, wrong, skipped
    return counts


def _paths() -> list[Path]:
    return [FOLDER / f"{type_}.json" for type_ in TYPES]


def test_the_exact_example_passes_and_what_it_does_not_have_is_named(built: Built) -> None:
    status, output = built.run("exact", *_paths())
    assert status == 0
    groups = _groups(output)
    cases = {(type_, one["mechanism"]): len(one["cases"]) for type_ in TYPES for one in vector_file(type_)["groups"]}
    assert {key: sum(counts) for key, counts in groups.items()} == cases
    assert {key: counts[0] for key, counts in groups.items() if counts[0]} == {
        (type_, mechanism): count for type_, right in built.client.right.items() for mechanism, count in right.items()
    }
    assert not any(counts[1] for counts in groups.values())


@pytest.mark.parametrize("type_", TYPES)
def test_the_naive_example_is_caught(built: Built, type_: str) -> None:
    if type_ not in built.client.caught:
        pytest.skip("the example has nothing of this type")
    status, output = built.run("naive", FOLDER / f"{type_}.json", VECTORS_SEED="1")
    assert status == 1
    wrong = {mechanism for (_, mechanism), counts in _groups(output).items() if counts[1]}
    assert wrong == built.client.caught[type_]
    assert re.search(r"(?m)^# case \d+ \(.+\): .+\n#   [A-Z]\w+: .+\.$", output)  # with the effect of its flag


def _next(text: str, toward: float) -> str:
    return math.nextafter(float.fromhex(text), toward).hex()


def _altered(type_: str, case: dict[str, Any]) -> None:
    """Changes one value, so that a right answer becomes a wrong one."""
    if type_ == "calibration":
        case["limit"] = _next(case["limit"], math.inf if case["unsafe"] == "too small" else -math.inf)
    elif type_ == "law":
        likely = max(case["law"], key=lambda row: _middle(row[1]))
        likely[1] = "1/1000000"
    elif type_ == "pair":
        case["claim"]["epsilon"] = "1/1000000"
    elif type_ == "rounding":
        case["downward"] = _next(case["downward"], -math.inf)
    elif type_ == "special":
        case["first"] = "not a value"
    elif type_ == "sum":
        case["sensitivity"] = "1/1000000"
    elif type_ == "tape":
        case["bits_used"] = str(int(case["bits_used"]) + 1)
    else:
        case["requests"][-1]["request"] = "below 4"


def _middle(probability: Any) -> float:
    ends = [probability] * 2 if isinstance(probability, str) else [probability["lower"], probability["upper"]]
    return float(sum(int(n) / int(d) for n, d in (f"{end}/1".split("/")[:2] for end in ends))) / 2


@pytest.mark.parametrize("type_", TYPES)
def test_an_altered_expectation_fails(built: Built, type_: str, tmp_path: Path) -> None:
    for mechanism in built.client.right.get(type_, {}):
        file = copy.deepcopy(vector_file(type_))
        group = next(one for one in file["groups"] if one["mechanism"] == mechanism)
        easy = (one for one in group["cases"] if one["comment"] in EASY or type_ not in ("law", "rounding"))
        case = next(one for one in easy if one.get("severity") != "robustness")
        _altered(type_, case)
        file["groups"] = [group]
        path = tmp_path / f"{type_}.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        status, output = built.run("exact", path)
        assert status == 1
        assert re.findall(r"(?m)^# case (\d+)", output) == [str(case["id"])]
        assert _groups(output)[type_, mechanism][1] == 1


EASY = {"ratio 1/2", "scale 1/2", "below 3", "γ = 1/2", "one"}
"""Cases of which every example answers."""


def test_a_type_that_is_not_known_is_skipped_by_name(built: Built, tmp_path: Path) -> None:
    path = tmp_path / "law.json"
    path.write_text(json.dumps({**vector_file("law"), "type": "rumour"}), encoding="utf-8")
    status, output = built.run("exact", path)
    assert status == 2
    assert "rumour discrete_laplace: 0 right, 0 wrong, 15 skipped # SKIP" in output


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: "",
        lambda text: text[:-3],
        lambda text: text + "}",
        lambda text: text.replace('"version": 1', '"version": 2'),
        lambda text: text.replace('"version": 1', '"version": 01'),
        lambda text: text.replace('"version": 1', '"version": 1,'),
        lambda text: text.replace('"version": 1', '"version" 1'),
        lambda text: text.replace('"version": 1', "'version': 1"),
        lambda text: text.replace('"version": 1', '"version": True'),
        lambda text: text.replace('"comment": "', '"comment": "\t'),
        lambda text: "\ufeff" + text,
        lambda _: "[" * 100_000,
        lambda _: "[]",
        lambda _: "null",
    ],
)
def test_a_file_that_cannot_be_read_is_refused(built: Built, spoil: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(spoil((FOLDER / "trace.json").read_text(encoding="utf-8")), encoding="utf-8")
    status, output = built.run("exact", path)
    assert status == 2
    assert "ok 1" not in output
    assert "Bail out!" in output


def test_a_comment_prints_no_line_of_its_own_and_a_flag_needs_no_note(built: Built, tmp_path: Path) -> None:
    file = copy.deepcopy(vector_file("trace"))
    for group in file["groups"]:
        group["cases"][0].update(comment="a\nnot ok 99 - b", output="7")
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({**file, "notes": {}}), encoding="utf-8")
    status, output = built.run("exact", path)
    assert status == 1
    assert sum(wrong for _, wrong, _ in _groups(output).values()) == len(built.client.right["trace"])


def test_a_file_that_is_not_there_is_refused(built: Built, tmp_path: Path) -> None:
    status, output = built.run("exact", tmp_path / "none.json")
    assert (status, "Bail out!" in output) == (2, True)


def test_the_same_seed_gives_the_same_findings(built: Built) -> None:
    first, second = (built.run("naive", FOLDER / "law.json", VECTORS_SEED="123456789") for _ in range(2))
    assert first == second
    assert first[1].startswith("# VECTORS_SEED=123456789, 10000 samples, alpha 1e-")
    other = built.run("naive", FOLDER / "law.json")
    assert other[1] != first[1]
    (seed,) = re.findall(r"VECTORS_SEED=(\d+)", other[1])
    assert built.run("naive", FOLDER / "law.json", VECTORS_SEED=seed) == other


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VECTORS_ALPHA", "0"),
        ("VECTORS_ALPHA", "1"),
        ("VECTORS_ALPHA", "nan"),
        ("VECTORS_ALPHA", "x"),
        ("VECTORS_TRIALS", "0"),
        ("VECTORS_TRIALS", "-1"),
        ("VECTORS_TRIALS", "x"),
        ("VECTORS_TRIALS", "99999999999999999999"),
        ("VECTORS_SEED", "18446744073709551616"),
        ("VECTORS_SEED", "-1"),
        ("VECTORS_SEED", "x"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(built: Built, name: str, value: str) -> None:
    status, output = built.run("exact", FOLDER / "law.json", **{name: value})
    assert (status, "ok 1" in output, "Bail out!" in output) == (2, False, True)


def test_the_largest_seed_is_taken(built: Built) -> None:
    status, output = built.run("exact", FOLDER / "trace.json", VECTORS_SEED="18446744073709551615")
    assert (status, output.partition(",")[0]) == (0, "# VECTORS_SEED=18446744073709551615")


@pytest.mark.parametrize("share", [0.1, 1e-3, 1e-13])
@pytest.mark.parametrize("trials", [1, 30, 1000])
def test_confidence_limits_are_wrong_as_rarely_as_stated(built: Built, trials: int, share: float) -> None:
    """By exact binomial tails: neither limit is wrong with probability above share/2, nor wide without need."""
    status, output = built.run("limits", str(trials), repr(share))
    lower = np.array([float.fromhex(line) for line in output.split()])
    assert (status, lower.size) == (0, trials + 1)
    assert np.all(np.diff(lower) > 0)
    assert lower[0] == 0
    upper = 1 - lower[::-1]
    hits = np.arange(trials + 1)
    # A limit is wrong for p if p lies below it; the worst p is just below one of the limits.
    assert np.all(binom.sf(hits[1:] - 1, trials, lower[1:]) <= share / 2)
    assert np.all(binom.cdf(hits[:-1], trials, upper[:-1]) <= share / 2)
    # What Clopper and Pearson would give is not far off: the tail at 1.5 times the logarithm is not covered.
    assert np.all(binom.logsf(hits[1:] - 1, trials, lower[1:]) >= 1.5 * math.log(share / 2) - 4)


SKIPS_THE_SECOND = """
#include "vectors.h"
static vectors_value answer(const vectors_question *question) {
    return vectors_say(strcmp(question->input, "second") ? "0" : "skip");
}
int main(int count, char **words) { return vectors_check(count - 1, words + 1, answer); }
"""

THROWS = """
public final class Throws {
    private static Object deeper(int depth) { return deeper(depth + 1); }
    public static void main(String[] words) {
        System.exit(Vectors.check(java.util.List.of(words[1]), (question, random) -> {
            if (words[0].equals("AssertionError")) throw new AssertionError("no");
            return deeper(0);
        }));
    }
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_special_case_is_skipped_if_either_answer_is(tmp_path: Path) -> None:
    (tmp_path / "skips.c").write_text(SKIPS_THE_SECOND)
    _run("gcc", "-I", CLIENTS / "c", "-o", tmp_path / "skips", tmp_path / "skips.c", "-lm")
    status, output = Built(LANGUAGES["c"], [str(tmp_path / "skips")]).run(FOLDER / "special.json")
    assert status == 2
    assert all(not right + wrong and skipped for right, wrong, skipped in _groups(output).values())


@pytest.mark.skipif(shutil.which("javac") is None, reason="javac is not installed")
def test_an_error_that_java_code_throws_is_a_wrong_answer(tmp_path: Path) -> None:
    (tmp_path / "Throws.java").write_text(THROWS)
    _run("javac", "-d", tmp_path, CLIENTS / "java" / "Vectors.java", tmp_path / "Throws.java")
    for error in ("AssertionError", "StackOverflowError"):
        throwing = Built(LANGUAGES["java"], ["java", "-cp", str(tmp_path), "Throws", error])
        status, output = throwing.run(FOLDER / "special.json")
        assert status == 1
        assert f"it throws java.lang.{error}" in output
        assert all(wrong and not right for right, wrong, _ in _groups(output).values())


def test_a_client_is_shorter_than_300_lines(built: Built) -> None:
    assert len((CLIENTS / built.client.source).read_text(encoding="utf-8").splitlines()) < 300
