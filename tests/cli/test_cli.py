"""The command line beyond its first line: replay lines, records, bugs, and the lab's own experiments."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import ATTACKS
from attacklab.auditing import referee
from attacklab.cli import COMMANDS
from attacklab.model.errors import ArithmeticModeError, LabFault, UsageError
from attacklab.model.findings import Verdict, read_record
from tests.cli.lines import ACCEPTS, SAMPLERS, TARGETS
from tests.running import ROOT, run

pytestmark = pytest.mark.slow

EXPERIMENT = """
from attacklab.reporting.experiment import Collected
from attacklab.reporting.figures import Figure, Panel, Role, Series
from attacklab.auditing.referee import audit
from attacklab.attacks import LowBitLaplace
from attacklab.model.targets import Target

QUESTION = "Do the bits tell [one] from [two]?"

def collect(settings):
    target = Target.noise(lambda a, n, rng: a + rng.laplace(0.0, 1.0, n), epsilon=1.0, name="leaking")
    return Collected(audit(target, [LowBitLaplace()], trials=settings.budget(4000, 2000), seed=settings.seed))

def figures(data):
    advantage = data["findings"][0]["evidence"]["advantage"]["estimate"]
    series = Series(label="leaking", role=Role.NAIVE, x=[1.0], y=[advantage])
    panel = Panel(title="t", x_label="x", y_label="y", series=[series])
    return [Figure(name="bits", caption="One point.", panels=[panel])]

def explain(data):
    return "It is seen at once."
"""


@pytest.fixture(autouse=True)
def folder(attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001 - it goes there
    (tmp_path / "with space.py").write_text(TARGETS)
    (tmp_path / "s.py").write_text(SAMPLERS)
    source = (ROOT / "examples" / "exec_laplace.py").read_text("utf-8")
    (tmp_path / "laplace").write_text(f"#!{sys.executable}\n{source}", "utf-8")
    (tmp_path / "laplace").chmod(0o755)
    monkeypatch.setenv("COLUMNS", "120")
    for module in ("s", "with space"):  # of another folder
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path


MEAN = "--kind mean --epsilon 1 --bounds 0 1 --relation substitute --attack missing_clip"


@pytest.mark.parametrize(
    "line",
    [
        "audit 'with space.py:target' --alpha 0.0012345678 --seed 17 --trials 1000",
        "audit 'with space.py:drawn' --kind selection --epsilon 1 --trials 1000",
        "audit 'with space.py:leaking' --kind noise --claim rho=0.25 --attack precision --trials 2000",
        f"audit 'with space.py:unclipped' --in-env here {MEAN} --trials 1000",
        "audit --exec ./laplace --kind noise --claim rdp=2:0.25,8:1 --attack precision --trials 1000 --workers 1",
        "audit numpy:laplace --attack precision --trials 2000",
        f"audit numpy:laplace --in-env {sys.executable} --attack precision --trials 2000",
        "audit 'with space.py:spread' --kind stage --claim l2=0.5 --domain integers,0..1 --seed 3",
        """prove s.py:size --kind dataset --epsilon 0.7 --relation add-remove --inputs '[["x", "y"], ["y"]]'""",
        "prove s.py:to_four --kind noise --epsilon 0.7 --inputs 0..6",
    ],
)
def test_the_line_that_a_finding_names_gives_it_again_to_the_last_bit(line: str, attacklab: Any) -> None:
    def run(line: str) -> list[dict[str, Any]]:
        status, out, err = attacklab(f"{line} --json -")
        assert (status in (0, 1), err) == (True, "")
        findings = json.loads(out, parse_constant=lambda _: pytest.fail("not JSON"))["findings"]
        return [{**finding, "seconds": 0} for finding in findings if finding["verdict"] != "not applicable"]

    findings = run(line)
    assert findings
    assert all(finding["relation"] == "substitute" for finding in findings if "substitute" in line)
    for attack in dict.fromkeys(finding["attack"] for finding in findings):
        originals = [finding for finding in findings if finding["attack"] == attack]
        assert run(originals[0]["replay"].removeprefix("attacklab ")) == originals


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("this cannot be"), None),
        (LabFault("this cannot be"), None),
        (UsageError("say it\nin another way"), "say it in another way"),
        (ArithmeticModeError("say it"), "say it"),
        (OSError(28, "No space left on device", "out.json"), "out.json: No space left on device"),
        (OSError("targets in another process need a POSIX system"), "targets in another process need a POSIX system"),
    ],
)
def test_a_bug_ends_in_a_traceback_and_a_mistake_in_one_line_and_neither_as_a_refuted_claim(
    error: Exception, told: str | None, attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(referee, "audit", failing)
    status, out, err = attacklab("audit 'with space.py:target'")
    assert (status, out) == (2, "")
    assert err.startswith("Traceback ") if told is None else err == f"attacklab: {told}\n"


def test_the_checker_is_sought_from_the_working_directory_upwards(
    attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checker").mkdir()
    (tmp_path / "checker" / "check.py").write_text(ACCEPTS)
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    line = f"prove {tmp_path / 's.py'}:certified --all"
    assert attacklab(f"{line} --json f.json")[0] == 0
    (finding,) = read_record(tmp_path / "deeper" / "f.json")["findings"]
    assert (str(finding.scope), finding.replay) == ("every pair of neighbours (answers)", f"attacklab {line}")
    assert [path.name for path in (tmp_path / "deeper" / "reports" / "proofs").iterdir()] == ["odd_name_1.json"]


def test_the_help_tells_every_command_in_a_whole_line(attacklab: Any) -> None:
    status, out, err = attacklab("--help")
    assert (status, err) == (0, "")
    assert all(f"\n  {command.name} " in out for command in COMMANDS)
    assert not re.search(r"(?m)^  .*\.\.\.$", out)


def test_list_outside_a_checkout_shows_the_attacks_and_runs_nobodys_scripts(attacklab: Any, folder: Path) -> None:
    (folder / "experiments").mkdir()
    (folder / "experiments" / "train.py").write_text("raise RuntimeError('was run')\n")
    (folder / "environments").mkdir()
    for name in ("opendp-0.16.0", "read-me"):
        (folder / "environments" / f"{name}.txt").touch()
    status, out, err = attacklab("list")
    assert (status, err) == (0, "")
    for attack in ATTACKS:
        assert attack.name in out
    assert "In a checkout of the lab" in out
    told = f"here, {np.__version__}", "opendp-0.16.0 not built; make .environments/opendp-0.16.0/.ready"
    assert all(words in " ".join(out.split()) for words in told)
    assert "read-me" not in out


@pytest.fixture
def checkout(folder: Path, own_experiments: Path) -> Path:
    assert folder == own_experiments
    (folder / "experiments" / "low_bits.py").write_text(EXPERIMENT)
    (folder / "experiments" / "targets").mkdir()
    (folder / "experiments" / "targets" / "__init__.py").write_text("from experiments.targets.own import *\n")
    (folder / "experiments" / "targets" / "own.py").write_text(TARGETS.replace("def leaking", "@named\ndef leaking"))
    (folder / "experiments" / "targets" / "other.py").write_text("@named\ndef not_offered(): ...\n")
    return folder


def test_run_writes_data_figures_and_page(checkout: Path) -> None:
    """In a process of its own, as a user starts it."""
    line = ["run", "--budget", "0", "--seed", "3", "--output", "out", "--browse"]
    done = run([sys.executable, "-c", "from attacklab.cli import main; main()", *line], checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert "[1/1] low_bits: Do the bits tell [one] from [two]?" in done.stdout
    assert "1 violated" in done.stdout
    found = sorted(str(path.relative_to(checkout / "out")) for path in (checkout / "out").rglob("*.*"))
    written = "data/low_bits.json figures/bits.svg index.html index.md low_bits.md measured/low_bits.json"
    assert found == written.split()
    (finding,) = read_record(checkout / "out" / "data" / "low_bits.json")["findings"]
    assert (finding.verdict, finding.seed) == (Verdict.VIOLATED, 3)
    assert 0 < finding.samples.counts.trials <= 2000
    assert "It is seen at once." in (checkout / "out" / "low_bits.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("checkout")
def test_list_in_a_checkout_shows_experiments_and_targets(attacklab: Any) -> None:
    status, out, err = attacklab("list")
    assert (status, err) == (0, "")
    for word in ("low_bits", "Do the bits tell [one] from [two]?", "targets:leaking", "Laplace noise of a textbook."):
        assert word in out
    assert "not_offered" not in out


@pytest.mark.usefixtures("checkout")
def test_a_mistake_in_run_is_told_before_anything_is_measured(folder: Path, attacklab: Any) -> None:
    for line, message in (
        ("run low_bit", "there is no experiment 'low_bit'; did you mean 'low_bits'?"),
        ("run --budget 0 --output experiments/low_bits.py", "cannot write to experiments/low_bits.py"),
    ):
        status, out, err = attacklab(line)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"attacklab: {message}")
    assert not list(folder.rglob("*.json"))


def test_a_checkout_whose_experiments_need_more_than_is_installed_is_listed_without_them(
    checkout: Path, attacklab: Any
) -> None:
    (checkout / "experiments" / "low_bits.py").write_text("import a_package_that_nobody_has\n")
    status, out, err = attacklab("list")
    assert (status, err) == (0, "")
    assert "precision" in out
    status, _, err = attacklab("run")
    assert (status, len(err.splitlines())) == (2, 1)
    assert "No module named 'a_package_that_nobody_has'; run it in the environment of this checkout" in err
