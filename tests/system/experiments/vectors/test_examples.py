"""The examples in Python, C and JavaScript: each passes its exact implementation and fails its naive one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.system.experiments.vector_files import FOLDER

EXAMPLES = FOLDER.parent / "examples" / "vectors"


def consumed(command: list[str], file: str, implementation: str) -> tuple[int, str]:
    done = subprocess.run(  # noqa: S603
        [*command, str(FOLDER / file), implementation], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_consumer_in_python() -> None:
    command = [sys.executable, str(EXAMPLES / "consumer.py")]
    assert consumed(command, "trace.json", "exact") == (0, "")
    status, output = consumed(command, "trace.json", "naive")
    assert status == 1
    assert "BiasedIntegers): asks for 'coin " in output


def test_the_consumer_in_javascript() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    command = [node, str(EXAMPLES / "consumer.js")]
    assert consumed(command, "rounding.json", "exact") == (0, "")
    status, output = consumed(command, "rounding.json", "naive")
    assert status == 1
    assert "(the least number; Subnormal): 0, not 0x0.0000000000001p-1022" in output


def test_the_consumer_in_c(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    program = tmp_path / "consumer"
    options = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-frounding-math"]
    subprocess.run([compiler, *options, "-o", str(program), str(EXAMPLES / "consumer.c"), "-lm"], check=True)  # noqa: S603
    status, output = consumed([str(program)], "calibration.json", "exact")
    assert (status, output) == (0, "16 cases, 0 failed\n")
    status, output = consumed([str(program)], "calibration.json", "naive")
    assert status == 1
    assert "is less than" in output


def test_what_the_page_shows_is_in_the_file_and_what_the_program_answers(files: Mapping[str, Any]) -> None:
    text = (FOLDER.parent / "docs" / "reference" / "vectors.md").read_text(encoding="utf-8")
    shown, dialogue = re.findall(r"```json\n(.*?)```", text, flags=re.DOTALL)
    group = files["trace"]["groups"][0]
    ((case,),) = (one["cases"] for one in json.loads(shown)["groups"])
    assert json.loads(shown)["cases"] == files["trace"]["cases"]
    assert json.loads(shown)["groups"][0]["mechanism"] == group["mechanism"]
    assert case in group["cases"]
    request, answer = dialogue.splitlines()
    command = [sys.executable, str(EXAMPLES / "program.py"), "exact"]
    done = subprocess.run(command, input=f"{request}\n", capture_output=True, text=True, check=True, timeout=120)  # noqa: S603
    assert json.loads(done.stdout) == json.loads(answer)


def test_the_page_lists_every_file(files: Mapping[str, Any]) -> None:
    text = (FOLDER.parent / "docs" / "reference" / "vectors.md").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^\| `(\w+)\.json` \|", text) == list(LISTED)
    assert files.keys() == set(LISTED)


LISTED = ("law", "pair", "tape", "trace", "special", "calibration", "rounding", "sum")
