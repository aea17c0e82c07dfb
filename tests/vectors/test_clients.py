"""Clients in other languages: each passes its exact mechanism, and catches the naive one and altered files."""

import copy
import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.experiments.vector_files import FOLDER, vector_file

pytestmark = pytest.mark.slow

CLIENTS = FOLDER / "clients"
RIGHT = {
    "gcc": {"laplace_epsilon": 16, "laplace_scale": 16, "two_sided_geometric": 10, "discrete_laplace": 14},
    "cargo": {"laplace_scale": 16, "uniform_below": 12, "bernoulli_exp": 14, "two_sided_geometric": 10}
    | {"discrete_laplace": 15},
    "javac": {"laplace_scale": 16, "bernoulli_exp": 14, "two_sided_geometric": 10, "discrete_laplace": 15},
}
"""By tool, each mechanism with the number of its cases that the exact example answers."""


@pytest.fixture(scope="module", params=RIGHT)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """The tool that made an example, and its command."""
    tool, folder = request.param, tmp_path_factory.mktemp(request.param)
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    checks = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-frounding-math"]
    crate = ["--offline", "--quiet", "--release", "--manifest-path", CLIENTS / "rust" / "Cargo.toml"]
    builds: dict[str, tuple[list[str | Path], list[str]]] = {
        "gcc": (
            [*checks, "-fsanitize=address,undefined", "-o", folder / "laplace", CLIENTS / "c" / "laplace.c", "-lm"],
            [f"{folder}/laplace"],
        ),
        "cargo": (["test", *crate, "--target-dir", folder], [f"{folder}/release/examples/laplace"]),
        "javac": (["-Xlint:all,-serial", "-Werror", "-d", folder], ["java", "-cp", str(folder), "Laplace"]),
    }
    words, command = builds[tool]
    words += sorted((CLIENTS / "java").glob("*.java")) if tool == "javac" else []
    subprocess.run([tool, *words], check=True, capture_output=True, timeout=280)  # noqa: S603
    if tool == "cargo":
        subprocess.run([tool, "build", *words[1:], "--example", "laplace"], check=True, timeout=280)  # noqa: S603
    return tool, command


def run(command: list[str], variant: str, *files: Path, **variables: str) -> tuple[int, str, dict[str, list[int]]]:
    """The status, what is printed, and by mechanism that is answered the counts of right, wrong and skipped cases."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VECTORS_")} | variables
    words = [*command, variant, *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=280, env=environment)  # noqa: S603
    assert done.stderr == ""
    lines = re.findall(r"(?m)^(?:not )?ok \d+ - \w+ (\w+): (\d+) right, (\d+) wrong, (\d+) skipped", done.stdout)
    counts = {name: [*map(int, numbers)] for name, *numbers in lines if numbers[:2] != ["0", "0"]}
    return done.returncode, done.stdout, counts


def test_the_exact_example_passes_and_the_naive_one_is_caught(built: tuple[str, list[str]]) -> None:
    tool, command = built
    status, output, counts = run(command, "exact", *sorted(FOLDER.glob("*.json")), VECTORS_TRIALS="2000")
    assert status == 0
    assert {name: right for name, (right, _, _) in counts.items()} == RIGHT[tool]
    assert output.count("# SKIP") > 10
    for type_ in ("law", "calibration"):
        status, output, counts = run(command, "naive", FOLDER / f"{type_}.json", VECTORS_SEED="1")
        assert status == 1
        assert any(wrong for _, wrong, _ in counts.values())
        assert re.search(r"(?m)^# case \d+ \(.+\): .+\n#   [A-Z]\w+: .+\.$", output)  # with the effect of its flag


def test_an_altered_expectation_fails(built: tuple[str, list[str]], tmp_path: Path) -> None:
    for type_, mechanism in (("calibration", "laplace_scale"), ("law", "two_sided_geometric")):
        file = copy.deepcopy(vector_file(type_))
        file["groups"] = [group for group in file["groups"] if group["mechanism"] == mechanism]
        case = file["groups"][0]["cases"][0]
        if type_ == "calibration":
            case["limit"] = math.nextafter(float.fromhex(case["limit"]), math.inf).hex()
        else:
            case["law"][16][1] = "1/1000000"
        path = tmp_path / f"{type_}.json"
        path.write_text(json.dumps(file), encoding="utf-8")
        status, output, counts = run(built[1], "exact", path)
        assert (status, counts[mechanism][1], re.findall(r"(?m)^# case (\d+)", output)) == (1, 1, [str(case["id"])])


def test_a_broken_file_and_a_senseless_setting_are_refused(built: tuple[str, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "law.json"
    path.write_text((FOLDER / "law.json").read_text("utf-8").replace('"version": 1', '"version" 1'), encoding="utf-8")
    assert run(built[1], "exact", path)[0] == 2
    for name, value in (("VECTORS_SEED", "x"), ("VECTORS_TRIALS", "0"), ("VECTORS_ALPHA", "2")):
        assert run(built[1], "exact", FOLDER / "law.json", **{name: value})[0] == 2
