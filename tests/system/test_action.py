"""An author adds one step to a workflow: the scripts of action.yml run as GitHub's runner runs them, in their order.

The steps that use other actions cannot run here: they set up Python and upload the SARIF log, and there are no others.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.system.installed import OFFLINE, environment_without_lab, run
from tests.system.sarif_logs import require_valid
from tests.system.test_packaging import ROOT, copied_tree

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS = ACTION["runs"]["steps"]
SCRIPTS = [step for step in STEPS if "run" in step]
CLAIM = "--kind noise --epsilon 1 --domain integers,0..100 --trials 3000 --alpha 1e-9"
ENDING = """
import os
from attacklab import Target

target = Target.noise(lambda *_: os._exit(0), epsilon=1.0)
"""
FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")


@dataclass
class Ended:
    """How the step ended: with the status of its last script, its outputs, its part of the job's summary and log."""

    status: int
    outputs: dict[str, str]
    summary: str
    log: str

    @property
    def sarif(self) -> dict[str, Any]:
        log = json.loads(Path(self.outputs["sarif"]).read_text("utf-8"))
        require_valid(log)
        return log


class Runner:
    """What GitHub's runner does with a composite action, as far as its scripts see it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, environment_without_lab(folder / "python")
        self.action = copied_tree(folder / "action", reverse=False)
        self.is_installed = False

    def run(self, **inputs: str) -> Ended:
        """Run the scripts in a fresh copy of the sample project, until one of them fails; the first only once."""
        job = self.folder / f"job{len(list(self.folder.glob('job*')))}"
        shutil.copytree(ROOT / "tests" / "sample_project", job / "project")
        (job / "project" / "noisy" / "ending.py").write_text(ENDING, "utf-8")
        (job / "project" / "noisy" / "ending_test.py").write_text("import os\n\nos._exit(0)\n", "utf-8")
        (job / "temp").mkdir()
        values = {name: inputs.pop(name, given.get("default", "")) for name, given in ACTION["inputs"].items()}
        assert not inputs
        outputs: dict[str, str] = {}
        summary, log, status = "", "", 0
        for number, step in enumerate(SCRIPTS):
            if step["name"] == "Install attacklab" and self.is_installed:
                continue
            files = {name: job / f"{name}{number}" for name in FILES}
            for file in files.values():
                file.touch()
            script = job / f"script{number}.py"
            script.write_text(step["run"], "utf-8")
            environment = {
                **OFFLINE,
                **{name: str(file) for name, file in files.items()},
                **{name: _put_in(text, values) for name, text in step.get("env", {}).items()},
                "GITHUB_ACTION_PATH": str(self.action),
                "GITHUB_WORKSPACE": str(job / "project"),
                "RUNNER_TEMP": str(job / "temp"),
                "PATH": str(self.programs),
            }
            done = run([str(self.programs / step["shell"]), str(script)], job / "project", environment)
            outputs |= dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text("utf-8").splitlines())
            summary += files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
            log, status = log + done.stdout + done.stderr, done.returncode
            assert not files["GITHUB_ENV"].read_text("utf-8") + files["GITHUB_PATH"].read_text("utf-8")
            if status:
                break
            self.is_installed = True
        return Ended(status, outputs, summary, log)


def _put_in(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: values[found[1]], text)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("runner"))


def test_only_the_set_up_of_python_and_the_upload_are_other_actions_and_both_are_pinned() -> None:
    used = [step["uses"].split("@") for step in STEPS if "uses" in step]
    assert [name for name, _ in used] == ["actions/setup-python", "github/codeql-action/upload-sarif"]
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for _, commit in used)
    assert len(used) + len(SCRIPTS) == len(STEPS)
    assert STEPS[-1]["with"]["sarif_file"] == ACTION["outputs"]["sarif"]["value"] == "${{ steps.audit.outputs.sarif }}"


def test_no_input_is_put_into_a_script() -> None:
    assert all("${{" not in step["run"] and step["shell"] == "python" for step in SCRIPTS)
    assert {step.get("if") for step in SCRIPTS} == {None}


def test_the_page_names_every_input_and_output() -> None:
    page = (ROOT / "docs" / "how_to" / "ci.md").read_text("utf-8")
    assert set(re.findall(r"(?m)^\| `([\w-]+)` \|", page)) == {*ACTION["inputs"], *ACTION["outputs"]}
    workflow, step, *_ = (yaml.safe_load(block) for block in re.findall(r"(?s)```yaml\n(.*?)```", page))
    for shown in (workflow["jobs"]["privacy"]["steps"][1], step):
        assert set(shown["with"]) <= set(ACTION["inputs"])


def test_tests_fail_for_the_leaky_mechanism_and_the_summary_shows_both(runner: Runner) -> None:
    """An alarm on the sound one has a probability of at most 1e-9; the seed is fixed."""
    ended = runner.run(pytest="--dp-trials 3000 --dp-alpha 1e-9")
    assert ended.status == 1, ended.log
    (leaky,) = ended.sarif["runs"][0]["results"]
    assert leaky["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "tests/test_noisy.py"
    broken, sound = re.split("(?m)^### ", ended.summary)[1:][::-1]
    assert broken.startswith(r"violated: tests/test\_noisy.py::test\_does\_not\_leak\[laplace\_count\]")
    assert "    pytest 'tests/test_noisy.py::test_does_not_leak[laplace_count]' --dp-alpha=" in broken
    assert sound.startswith(r"not detected: tests/test\_noisy.py::test\_does\_not\_leak\[geometric\_count\]")
    assert "would have been detected \\(power 95%\\)" in sound
    assert "    pytest 'tests/test_noisy.py::test_does_not_leak[geometric_count]'" in sound


@pytest.mark.parametrize(("name", "status", "verdict"), [("laplace", 1, "violated"), ("geometric", 0, "not detected")])
def test_an_audit_ends_with_its_status_and_leaves_a_log_and_a_summary(
    runner: Runner, name: str, status: int, verdict: str
) -> None:
    """An alarm on the sound one has a probability of at most 1e-9; the seed is fixed."""
    ended = runner.run(audit=f"noisy/__init__.py:{name}_count {CLAIM}")
    assert ended.status == status, ended.log
    assert bool(ended.sarif["runs"][0]["results"]) is bool(status)
    assert json.loads(Path(ended.outputs["json"]).read_text("utf-8"))["schema"] == "attacklab/1"
    assert f"\n### {verdict}: {name}\\_count\n" in ended.summary
    assert ("power 95%" in ended.summary) is not bool(status)
    assert re.search(
        rf"(?m)^    attacklab audit noisy/__init__\.py:{name}_count --kind noise .* --seed 0", ended.summary
    )


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({}, "give this step the input audit, or the input pytest, and not both"),
        ({"audit": "noisy.py:none", "pytest": "tests"}, "and not both"),
        ({"audit": "'$(touch stolen)' --kind noise --epsilon 1 ; touch stolen"}, "Got unexpected extra argument"),
        ({"audit": "nowhere.py:target"}, "there is no file nowhere.py; check the path"),
        ({"pytest": "noisy/ending_test.py"}, ""),
        ({"audit": "noisy/ending.py:target"}, "was ended from within (status 0), so nothing was judged"),
    ],
)
def test_what_is_wrong_with_the_inputs_ends_with_2_in_one_line_and_runs_nothing(
    runner: Runner, inputs: dict[str, str], said: str
) -> None:
    ended = runner.run(**inputs)
    assert (ended.status, ended.outputs) == (2, {})
    assert said in ended.log
    assert not list(runner.folder.rglob("stolen"))
    if len(inputs) == 1:
        assert re.search("ended with status [02] before it had findings; the log of the step says why", ended.summary)
