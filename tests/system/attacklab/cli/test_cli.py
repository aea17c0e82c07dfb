"""The command line: exit statuses, one line for every mistake, nothing half-written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.attacks import ATTACKS
from attacklab.cli import COMMANDS, audit, target_options
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import ArithmeticModeError, LabFault, TargetError, UsageError, UsageTypeError
from attacklab.model.findings import Finding, Verdict, read_record, to_text

ROOT = Path(__file__).parents[4]

TARGETS = '''
import math
import numpy as np
from attacklab.model.targets import Target

def leaking(answer, trials, rng):
    """Laplace noise of a textbook."""
    return answer + rng.laplace(0.0, 1.0, trials)

def sound(answer, trials, rng):
    stay = 1 - math.exp(-2.0 ** -10)
    steps = rng.geometric(stay, trials) - rng.geometric(stay, trials)
    return (round(min(max(answer, -2.0 ** 40), 2.0 ** 40) * 2 ** 10) + steps) / 2 ** 10

def forgets(answer, trials, rng):
    return [None] * trials

def few(answer, trials, rng):
    return np.zeros(trials - 1)

def things(answer, trials, rng):
    return [object() for _ in range(trials)]

def raising(answer, trials, rng):
    raise RuntimeError("disk\\non fire")

def leaving(answer, trials, rng):
    raise SystemExit(0)

def crashing(answer, trials, rng):
    import os
    os.abort()

def selected(utilities, trials, rng):
    return np.full(trials, len(utilities))

def apart(epsilon: float = 1.0):
    from attacklab.model.neighbours import NeighbouringPair
    NeighbouringPair.answers(0.0, 1.5, sensitivity=1.0)

def unclipped(records, trials, rng):
    return np.mean(records) + rng.laplace(0.0, 1 / len(records), trials)

def described(**rest):
    return {"kind": "noise", "release": sound, "epsilon": 1.0, **rest}

def concentrated(rho: float = 0.5):
    return {"kind": "noise", "release": leaking, "claim": {"kind": "zcdp", "rho": rho}, "noise_scale": 1.0}

def ordered(rdp=((2.0, 1.0),)):
    orders, bounds = zip(*rdp)
    return {"kind": "noise", "release": leaking, "claim": {"kind": "rdp", "alpha": orders, "epsilon": bounds}}

def tabled():
    curve = [(0.0, 0.1), (0.1, 2.0**-40)]
    return {"kind": "noise", "release": leaking, "claim": {"kind": "profile", "name": "0x1 table", "curve": curve}}

def misclaimed():
    return {"kind": "noise", "release": sound, "claim": {"kind": "zdp", "rho": 1.0}}

def unclaimed():
    return {"kind": "noise", "release": sound, "claim": 7}

def twice():
    return {"epsilon": 1.0, **concentrated()}

def worded():
    return described(sensitivity="wide")

def scaled():
    return described(noise_scale="wide")

def numbered():
    return {**described(), 3: 4}

def renamed():
    return described(name="a name of its own")

target = Target.noise(sound, epsilon=1.0)
vast = Target.noise(sound, epsilon=2.0**21).exact(lambda answer, bits: bits.take(1))
'''

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
    advantage = data["findings"][0]["advantage"]["estimate"]
    series = Series(label="leaking", role=Role.NAIVE, x=[1.0], y=[advantage])
    panel = Panel(title="t", x_label="x", y_label="y", series=[series])
    return [Figure(name="bits", caption="One point.", panels=[panel])]

def explain(data):
    return "It is seen at once."
"""


@pytest.fixture(autouse=True)
def folder(attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001 - it goes there
    (tmp_path / "some_targets.py").write_text(TARGETS)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


NOISE = "--kind noise --epsilon 1 --trials 4000"


def test_exit_status_tells_refuted_from_not_refuted_from_failed(attacklab: Any) -> None:
    assert attacklab(f"audit some_targets.py:leaking {NOISE}")[0] == 1
    assert attacklab(f"audit some_targets.py:sound {NOISE}")[0] == 0
    assert attacklab("audit some_targets.py:target --trials 4000")[0] == 0
    assert attacklab(f"audit some_targets.py:few {NOISE}")[0] == 2
    status, out, _ = attacklab(f"audit some_targets.py:forgets {NOISE}")
    assert (status, "forgets returned None 16,384 times of 16,384 on both inputs" in out) == (2, True)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (
            "--attack precision --epsilon 1 --trials 5",
            "raise --trials",
        ),
        (
            "--attack precision --epsilon 20 --trials 100",
            "sampling cannot test this claim; prove it: attacklab prove",
        ),
        (
            "--attack zero_rounding --epsilon 1",
            "no attack applies: leave --attack out, or declare --domain or --pairs",
        ),
        (
            "--kind dataset --attack zero_rounding --epsilon 1",
            "no attack applies: leave --attack out, or declare --domain or --pairs",
        ),
    ],
)
def test_an_audit_that_could_decide_nothing_is_no_pass_and_says_why(attacklab: Any, rest: str, said: str) -> None:
    status, out, err = attacklab(f"audit some_targets.py:sound --kind noise {rest}")
    assert (status, err) == (2, "")
    assert out.startswith("UNDECIDED  sound ")
    assert f"Next       {said}" in out


def test_the_largest_epsilon_is_shown_and_its_replay_line_gives_it_again(attacklab: Any) -> None:
    line = f"audit some_targets.py:leaking {NOISE} --attack low_bit_laplace --maximise-epsilon --seed 3"
    status, out, _ = attacklab(f"{line} --json -")
    (finding,) = json.loads(out)["findings"]
    assert status == 1
    assert finding["counts"]["trials"] == 4000
    assert finding["epsilon_lower"] > 4
    again = json.loads(attacklab(f"{finding['replay'].removeprefix('attacklab ')} --json -")[1])["findings"]
    assert [{**one, "seconds": 0} for one in again] == [{**finding, "seconds": 0}]
    status, _, err = attacklab(f"{line} --workers 2")
    assert status == 2
    assert "--maximise-epsilon runs in this process; leave out --workers" in err


def test_a_refuted_claim_is_shown_with_its_advantage_and_the_line_that_replays_it(attacklab: Any) -> None:
    _status, out, err = attacklab(f"audit some_targets.py:leaking {NOISE} --seed 5")
    assert err == ""
    assert out.startswith("FAIL  leaking   some_targets.py:6   claims ε = 1.0, shown: ε ≥ ")
    assert re.search(r"(?m)^  AL04 low bits .* of \d+ : 0 of \d+$", out)
    assert "Run again  attacklab audit some_targets.py:leaking --kind noise --epsilon 1.0 \\\n" in out
    assert len(out.splitlines()) <= 15
    assert max(map(len, out.splitlines())) <= 80


def test_json_on_standard_output_is_a_valid_record_and_nothing_else(attacklab: Any) -> None:
    status, out, err = attacklab(f"audit some_targets.py:leaking {NOISE} --json -")
    data = json.loads(out, parse_constant=lambda _: pytest.fail("not JSON"))
    findings = [Finding.from_json(finding) for finding in data["findings"]]
    assert (status, err) == (1, "")
    assert {finding.attack for finding in findings} == {"alignment", *(attack.name for attack in ATTACKS)}
    assert Verdict.VIOLATED in {finding.verdict for finding in findings}


def test_json_is_written_to_a_file_in_a_new_folder(attacklab: Any, folder: Path) -> None:
    assert attacklab(f"audit some_targets.py:leaking {NOISE} --json new/found.json")[0] == 1
    assert len(read_record(folder / "new" / "found.json")["findings"]) >= len(ATTACKS)
    assert [path.name for path in (folder / "new").iterdir()] == ["found.json"]


def test_only_the_attacks_that_were_named_run_and_each_once(attacklab: Any) -> None:
    line = f"audit some_targets.py:sound {NOISE} --attack low_bit_laplace --attack low_bit_laplace --json -"
    findings = json.loads(attacklab(line)[1])["findings"]
    assert [finding["attack"] for finding in findings] == ["low_bit_laplace"]


def test_a_target_in_a_process_of_its_own_is_audited_and_replayed_as_one(attacklab: Any) -> None:
    line = f"some_targets.py:leaking --isolate --seconds 30.0 {NOISE}"
    status, out, _ = attacklab(f"audit {line} -v")
    assert status == 1
    replay = re.search(r"replay: attacklab (.*--attack low_bit_laplace .*)", out)
    assert replay is not None
    assert "some_targets.py:leaking --isolate --seconds 30.0 --kind noise --epsilon 1.0 " in replay[1]
    status, again, _ = attacklab(f"{replay[1]} -v")
    assert status == 1
    assert f"replay: attacklab {replay[1]}" in again


@pytest.mark.parametrize("isolate", ["", " --isolate"])
def test_a_claim_of_one_relation_is_audited_and_replayed_as_one(attacklab: Any, isolate: str) -> None:
    options = "--kind mean --epsilon 1 --lower 0 --upper 1 --relation substitute"
    status, out, err = attacklab(
        f"audit some_targets.py:unclipped{isolate} {options} --attack missing_clip --attack double_budget --json -"
    )
    assert (status, err) == (1, "")
    below, above, double = json.loads(out)["findings"]
    assert {one["relation"] for one in (below, above, double)} == {"substitute"}
    assert below["pair"]["relation"] == above["pair"]["relation"] == "substitute"
    assert double["verdict"] == "not applicable"
    replay = below["replay"].removeprefix("attacklab ")
    assert "--upper 1.0 --relation substitute --attack missing_clip" in replay
    again = json.loads(attacklab(f"{replay} --json -")[1])["findings"]
    assert [one["verdict"] for one in again] == [below["verdict"], above["verdict"]]


@pytest.mark.parametrize(
    ("where", "options", "claim", "words"),
    [
        ("some_targets.py:leaking", "--rho 0.25", {"kind": "zcdp", "rho": 0.25}, "ρ-zCDP with ρ = 0.25"),
        ("some_targets.py:leaking --isolate", "--mu 0.5", {"kind": "gdp", "mu": 0.5}, "μ-GDP with μ = 0.5"),
        (
            "program",
            "--rdp 2,0.25 --rdp 8,1",
            {"kind": "rdp", "alpha": [2.0, 8.0], "epsilon": [0.25, 1.0]},
            "(α, ε)-RDP at (2.0, 0.25), (8.0, 1.0)",
        ),
    ],
)
def test_a_claim_of_another_kind_is_judged_said_and_replayed(
    where: str, options: str, claim: dict[str, Any], words: str, attacklab: Any, folder: Path
) -> None:
    if where == "program":
        source = (ROOT / "examples" / "exec_laplace.py").read_text("utf-8")
        (folder / "laplace").write_text(f"#!{sys.executable}\n{source}", "utf-8")
        (folder / "laplace").chmod(0o755)
        where = "--exec ./laplace"
    rest = "--kind noise --attack precision --trials 2000 --workers 1 --json found.json -v"
    status, out, err = attacklab(f"audit {where} {options} {rest}")
    assert (status, err) == (1, "")
    name = where.removeprefix("--exec ") if "exec" in where else "leaking"
    assert out.startswith(f"FAIL  {name} ")
    assert f"claims {words}, shown: δ ≥ " in " ".join(out.split())
    findings = read_record(folder / "found.json")["findings"]
    assert {to_text(finding.to_json()["claim"]) for finding in findings} == {to_text(claim)}
    assert all(isinstance(finding.judged_at, PrivacyClaim) for finding in findings)
    assert "    judged at ε = " in out
    (replay,) = [line for line in out.splitlines() if line.startswith("replay: attacklab ")]
    assert attacklab(f"{replay.removeprefix('replay: attacklab ')} --workers 1 --json again.json")[0] == 1
    again = read_record(folder / "again.json")["findings"]
    assert [replace(one, seconds=0) for one in again] == [replace(one, seconds=0) for one in findings]


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("concentrated", {"kind": "zcdp", "rho": 0.5}),
        ("concentrated --rho 0.1", {"kind": "zcdp", "rho": 0.1}),
        ("ordered", {"kind": "rdp", "alpha": [2.0], "epsilon": [1.0]}),
        ("ordered --rdp 3,0.5 --rdp 4,0.7", {"kind": "rdp", "alpha": [3.0, 4.0], "epsilon": [0.5, 0.7]}),
        ("tabled", {"kind": "profile", "name": "0x1 table", "curve": [[0.0, 0.1], [0.1, 2.0**-40]]}),
    ],
)
@pytest.mark.parametrize("isolate", ["", " --isolate"])
def test_a_dict_may_hold_a_claim_and_a_function_that_makes_one_is_asked_for_it(
    line: str, claim: dict[str, Any], isolate: str, attacklab: Any
) -> None:
    line += f"{isolate} --attack low_bit_laplace --trials 500 --workers 1 --json -"
    _, out, err = attacklab(f"audit some_targets.py:{line}")
    assert err == ""
    assert [finding["claim"] for finding in json.loads(out)["findings"]] == [claim]


def test_a_librarys_target_runs_in_a_process_of_its_own(attacklab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def here(*_: Any, **__: Any) -> None:
        raise AssertionError("it was loaded in this process")

    monkeypatch.setattr(target_options, "load_target", here)
    line = "audit numpy:laplace --seconds 30 --attack precision --trials 2000 --json -"
    status, out, err = attacklab(line)
    assert (status, err) == (1, "")
    finding = json.loads(out)["findings"][0]
    assert (finding["target"], finding["target_version"]) == ("numpy:laplace", f"numpy {np.__version__}")
    assert "audit numpy:laplace --seconds 30.0 --attack precision" in finding["replay"]


def test_a_library_that_is_not_installed_is_named(attacklab: Any) -> None:
    status, _, err = attacklab("audit pipelinedp:laplace")
    told = f"pipeline-dp is not installed in {sys.prefix}; see which environments have it: attacklab list"
    assert (status, err) == (2, f"attacklab: cannot be loaded: {told}\n")


def test_a_program_in_another_language_is_audited(attacklab: Any, folder: Path) -> None:
    (folder / "answer").write_text("""#!/bin/sh
while read -r request; do echo '{"error": "out of paper"}'; done
""")
    (folder / "answer").chmod(0o755)
    status, out, err = attacklab("audit --exec ./answer --kind noise --epsilon 1 --attack low_bit_laplace --json -")
    assert (status, err) == (2, "")
    (finding,) = json.loads(out)["findings"]
    assert "raised ReleaseError: out of paper" in finding["reason"]


@pytest.mark.parametrize("kind", [AssertionError, ValueError, TypeError, KeyError, TargetError, LabFault])
def test_a_bug_ends_in_a_traceback_and_is_not_taken_for_a_refuted_claim(
    kind: type[Exception], attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_: Any, **__: Any) -> None:
        raise kind("this cannot be")

    monkeypatch.setattr(audit, "audit", faulty)
    status, _, err = attacklab(f"audit some_targets.py:sound {NOISE}")
    assert status == 2
    assert err.startswith("Traceback (most recent call last):\n")
    assert re.search(rf"(?m)^(attacklab\.model\.errors\.)?{kind.__name__}: '?this cannot be'?$", err)


@pytest.mark.parametrize("kind", [UsageError, UsageTypeError, ArithmeticModeError])
def test_a_users_mistake_is_one_line_without_a_traceback(
    kind: type[Exception], attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: Any, **__: Any) -> None:
        raise kind("say it\nin another way")

    monkeypatch.setattr(audit, "audit", mistaken)
    assert attacklab(f"audit some_targets.py:sound {NOISE}") == (2, "", "attacklab: say it in another way\n")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device", "out.json"), "out.json: No space left on device"),
        (OSError("targets in another process need a POSIX system"), "targets in another process need a POSIX system"),
    ],
)
def test_a_failure_of_the_system_is_told_with_its_file(
    error: OSError, told: str, attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(audit, "audit", failing)
    assert attacklab(f"audit some_targets.py:sound {NOISE}") == (2, "", f"attacklab: {told}\n")


def test_a_folder_that_is_named_as_a_module_is_not_an_experiment(attacklab: Any, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.attacklab]\nexperiments = "experiments"\n')
    (folder / "experiments" / "odd.py").mkdir(parents=True)
    assert attacklab("run") == (2, "", "attacklab: no experiment in experiments/; add a module NAME.py to it\n")
    assert not (folder / "reports").exists()


@pytest.mark.parametrize("line", ["reports", "reports --check"])
def test_reports_of_a_folder_without_records_are_refused_and_nothing_is_made(
    line: str, attacklab: Any, folder: Path
) -> None:
    (folder / "pyproject.toml").write_text('[tool.attacklab]\nexperiments = "experiments"\n')
    told = "name the folder that attacklab run wrote by --output, or measure first: attacklab run NAME"
    assert attacklab(line) == (2, "", f"attacklab: no record of an experiment in reports/data; {told}\n")
    assert not (folder / "reports").exists()


def test_a_dict_that_names_its_target_keeps_that_name(attacklab: Any) -> None:
    _, out, _ = attacklab("audit some_targets.py:renamed --trials 100 --attack precision --json -")
    assert {finding["target"] for finding in json.loads(out)["findings"]} == {"a name of its own"}


MISTAKES = [
    ("audit some_targets.py:sound --kind noise --epsilon 0", "epsilon must be greater than 0, not 0.0"),
    ("audit some_targets.py:sound --kind noise --epsilon 1 --delta 1", "delta must lie in [0, 1), not 1.0"),
    ("audit some_targets.py:sound --kind noise --epsilon 1 --sensitivity 0", "sensitivity must be finite and greater"),
    ("audit some_targets.py:sound --kind noise --epsilon 1 --lower 0 --upper 1", "a noise target takes no bounds"),
    ("audit some_targets.py:target --kind noise --epsilon 1 --isolate", "leave the kind and the parameters out"),
    ("audit notes.txt:sound", "notes.txt is not a Python file: its name must end in .py"),
    ("audit numpi:laplace", "No module named 'numpi'; did you mean the library 'numpy'?"),
    ("audit numpi:laplace --isolate", "No module named 'numpi'; did you mean the library 'numpy'?"),
    ("audit some_targets.py:sound --kind mean --epsilon 1 --lower 0", "--lower and --upper go together"),
    (
        "audit some_targets.py:sound --kind mean --epsilon 1 --lower 2 --upper 1",
        "bounds must be finite and lower < upper",
    ),
    (
        "audit some_targets.py:sound --kind sum --epsilon 1 --lower 0 --upper 1 --relation node",
        "relation of a sum target must be add-remove or substitute, not node",
    ),
    ("audit some_targets.py:sound --kind noise --epsilon 1 --relation substitute", "a noise target takes no relation"),
    ("audit numpy:laplacian", "numpy has no 'laplacian'; there are laplace, laplace_legacy, gaussian, exponential"),
    ("audit numpy:laplace --lower 0 --upper 1", "cannot be loaded: numpy:laplace takes no bounds; leave that out"),
    ("audit some_targets.py:target --epsilon 1", "leave the parameters out"),
    ("audit some_targets.py:sound", "looks like a release function; add --kind and --epsilon, or name a Target"),
    ("audit some_targets.py:apart", "further apart than the sensitivity 1.0"),
    ("audit some_targets.py:targt", "has no 'targt'"),
    ("audit nowhere.py:target", "there is no file nowhere.py"),
    ("audit target", "must be written path/file.py:name or package.module:name"),
    ("audit some_targets.py:target --alpha 0", "alpha must lie in (0, 1), not 0.0"),
    ("audit some_targets.py:target --alpha nan", "alpha must lie in (0, 1), not nan"),
    ("audit some_targets.py:target --attack low_bit", "there is no attack 'low_bit'; did you mean 'low_bit_laplace'?"),
    ("audit some_targets.py:target --attack xyzzy", "there is no attack 'xyzzy'; choose from "),
    ("audit some_targets.py:target --json some_targets.py/out.json", "cannot write to some_targets.py"),
    ("audit some_targets.py:target --json .", "cannot write to .: it is a folder"),
    ("audit some_targets.py:target --sarif .", "cannot write to .: it is a folder"),
    ("audit some_targets.py:target --sarif -", "--sarif needs the name of a file"),
    ("prove some_targets.py:target --json .", "cannot write to .: it is a folder"),
    (
        "audit some_targets.py:target --workers nowhere",
        "'nowhere' is not the address of a Dask scheduler (missing port",
    ),
    (
        "audit some_targets.py:target --workers http://host:1",
        "'http://host:1' is not the address of a Dask scheduler",
    ),
    ("audit some_targets.py:target --seconds 5", "--seconds limits another process; add --isolate"),
    ("audit some_targets.py:target --isolate --seconds nan", "seconds must be finite and greater than 0, not nan"),
    ("audit some_targets.py:target --isolate --seconds 1e300", "seconds must be at most 1e+06, not 1e+300"),
    ("audit some_targets.py:worded", "sensitivity must be a number, not 'wide'"),
    ("audit some_targets.py:scaled", "noise_scale must be a number, not 'wide'"),
    ("audit some_targets.py:numbered", "returned a dict with keys that are not strings"),
    ("audit some_targets.py:targt --isolate", "has no 'targt'"),
    ("prove some_targets.py:vast", "must lie in [-2^20, 2^20], not 2097152.0; claim a smaller ε"),
    ("prove some_targets.py:vast --first 1,2 --second 1,3", "a noise target takes a number for each"),
    ("audit nowhere.py:target --isolate", "there is no file nowhere.py"),
    ("audit --exec nowhere --kind noise --epsilon 1", "there is no program 'nowhere'"),
    ("audit --exec ./notes.txt --kind noise --epsilon 1", "'./notes.txt', or it is not executable"),
    ('audit --exec "\'nowhere" --kind noise --epsilon 1', "--exec 'nowhere: no closing quotation"),
    ("audit --exec true --kind noise", "a program after --exec needs --kind and a claim; add --kind and one of"),
    ("audit --exec true --epsilon 1", "a program after --exec needs --kind and a claim; add --kind and one of"),
    ("audit --exec true --rho 1", "a program after --exec needs --kind and a claim; add --kind and one of"),
    ("audit --exec true --kind noise --rho 1 --delta 0.1", "--delta and --rho exclude each other; give --epsilon"),
    ("audit some_targets.py:sound --kind noise --epsilon 1 --rho 1", "--epsilon and --rho exclude each other; give"),
    ("audit some_targets.py:sound --kind noise --mu 1 --rdp 2,1", "--mu and --rdp exclude each other; give --epsilon"),
    ("audit some_targets.py:sound --kind noise --rho 0", "rho must be finite and greater than 0, not 0.0"),
    ("audit some_targets.py:sound --kind noise --mu -1", "mu must be finite and greater than 0, not -1.0"),
    ("audit some_targets.py:sound --kind noise --rdp 2", "--rdp must be ALPHA,EPSILON, such as 2,0.5, not '2'"),
    ("audit some_targets.py:sound --kind noise --rdp 2,x", "--rdp must be ALPHA,EPSILON, such as 2,0.5, not '2,x'"),
    ("audit some_targets.py:sound --kind noise --rdp 1,1", "alpha must be greater than 1, not 1.0"),
    ("audit some_targets.py:sound --kind noise --rdp 2,1 --rdp 2,3", "each alpha of an RDP claim may stand there once"),
    ("audit some_targets.py:target --rho 1", "is a target with a claim of its own; leave the parameters out"),
    ("audit some_targets.py:target --rho 1 --isolate", "is a target with a claim of its own; leave the parameters out"),
    ("audit some_targets.py:apart --rho 1", "some_targets.py:apart takes no rho; leave that out"),
    ("audit some_targets.py:apart --mu 1 --isolate", "some_targets.py:apart takes no mu; leave that out"),
    (
        "audit some_targets.py:misclaimed",
        "the claim in what some_targets.py:misclaimed returned: kind of a claim must be",
    ),
    ("audit some_targets.py:unclaimed", "a claim is a JSON object, not 7"),
    ("audit some_targets.py:unclaimed --isolate", "a claim is a JSON object, not 7"),
    ("audit some_targets.py:twice", "give an epsilon (and delta) or a claim, not both: ρ-zCDP with ρ = 0.5"),
    ("prove some_targets.py:vast --rho 1", "is a target with a claim of its own; leave the parameters out"),
    ("prove some_targets.py:vast --epsilon 1 --mu 1", "--epsilon and --mu exclude each other; give --epsilon"),
    ("audit --exec true --kind noise --epsilon 1 --isolate", "leave --isolate out"),
    ("audit --exec true --kind mean --epsilon 1", "a mean target needs bounds"),
    ("run", "no experiments/ in this folder; run it from a checkout of the lab"),
    (
        "audit some_targets.py:leaking --kind noise --epsilon 1 --trials 100000000000000000000000",
        "trials must be at most 1000000000000",
    ),
]


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_a_mistake_is_told_in_one_line_on_standard_error(line: str, message: str, attacklab: Any, folder: Path) -> None:
    if "Dask" in message:
        pytest.importorskip("distributed")
    (folder / "notes.txt").write_text("no Python")
    before = sorted(folder.iterdir())
    status, out, err = attacklab(line)
    assert status == 2
    assert out == ""
    assert err.startswith("attacklab: ")
    assert err.count("\n") == 1
    assert message in err
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before
    assert (folder / "some_targets.py").read_text() == TARGETS


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("few", "noise", "few returned 63"),
        ("things", "noise", "cannot be taken apart"),
        ("raising", "noise", "raising raised RuntimeError: disk on fire"),
        ("leaving", "noise", "leaving raised SystemExit: 0"),
        ("selected", "selection", "indices from 2 to 2 of 2 outcomes"),
        ("sound", "dataset", "--domain or --pairs"),
        ("crashing", "noise --isolate --attack precision", "crashing: crash: killed by SIGABRT"),
    ],
)
def test_a_target_that_misbehaves_ends_in_error_findings_and_status_two(
    name: str, kind: str, reason: str, attacklab: Any
) -> None:
    line = f"audit some_targets.py:{name} --kind {kind} --epsilon 1 --trials 640"
    status, out, err = attacklab(line)
    assert (status, err) == (2, "")
    assert out.startswith("ERROR  ")
    assert "Traceback" not in out
    out = attacklab(f"{line} --json -")[1]
    reasons = [finding["reason"] for finding in json.loads(out)["findings"] if finding["verdict"] == "error"]
    assert any(reason in one for one in reasons)
    assert all("\n" not in one for one in reasons)


def test_the_help_tells_every_command_in_a_whole_line(attacklab: Any, tmp_path: Path) -> None:
    for marker in ("", '[tool.attacklab]\nexperiments = "experiments"\n'):  # elsewhere, and in a lab
        (tmp_path / "pyproject.toml").write_text(marker)
        status, out, err = attacklab("--help")
        assert (status, err) == (0, "")
        for command in COMMANDS:
            assert (f"\n  {command.name} " in out) is (bool(marker) or not command.needs_lab)
        assert not re.search(r"(?m)^  .*\.\.\.$", out)


@pytest.mark.parametrize(
    "line",
    ["audit x.py:y --trials 0", "audit x.py:y --epsilon much", "audit", "audit a b", "audit a --exec b", "nonsense"],
)
def test_a_line_that_cannot_be_parsed_is_a_usage_error(line: str, attacklab: Any) -> None:
    status, out, err = attacklab(line)
    assert (status, out) == (2, "")
    assert "Traceback" not in err
    assert re.search(r"(?m)^Error: .+", err)


def test_list_outside_a_checkout_shows_the_attacks_and_runs_nobodys_scripts(attacklab: Any, folder: Path) -> None:
    (folder / "experiments").mkdir()
    (folder / "experiments" / "train.py").write_text("raise RuntimeError('was run')\n")
    status, out, err = attacklab("list")
    assert (status, err) == (0, "")
    for attack in ATTACKS:
        assert attack.name in out
    assert "In a checkout of the lab" in out


@pytest.fixture
def checkout(folder: Path, own_experiments: Path) -> Path:
    assert folder == own_experiments
    (folder / "experiments" / "low_bits.py").write_text(EXPERIMENT)
    (folder / "experiments" / "targets").mkdir()
    (folder / "experiments" / "targets" / "__init__.py").write_text(TARGETS)
    return folder


def test_run_writes_data_figures_and_page(checkout: Path) -> None:
    """In a process of its own, as a user starts it."""
    line = [sys.executable, "-c", "from attacklab.cli import main; main()"]
    line += ["run", "--budget", "0", "--seed", "3", "--output", "out", "--browse"]
    run = subprocess.run(line, cwd=checkout, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert (run.returncode, run.stderr) == (0, "")
    assert "[1/1] low_bits: Do the bits tell [one] from [two]?" in run.stdout
    assert "1 violated" in run.stdout
    found = sorted(str(path.relative_to(checkout / "out")) for path in (checkout / "out").rglob("*.*"))
    assert found == [
        "data/low_bits.json",
        "figures/bits.svg",
        "index.html",
        "index.md",
        "low_bits.md",
        "measured/low_bits.json",
    ]
    (finding,) = read_record(checkout / "out" / "data" / "low_bits.json")["findings"]
    assert (finding.verdict, finding.seed) == (Verdict.VIOLATED, 3)
    assert 0 < finding.counts.trials <= 2000
    assert "It is seen at once." in (checkout / "out" / "low_bits.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("checkout")
def test_list_in_a_checkout_shows_experiments_and_targets(attacklab: Any) -> None:
    status, out, err = attacklab("list")
    assert (status, err) == (0, "")
    for word in ("low_bits", "Do the bits tell [one] from [two]?", "leaking", "Laplace noise of a textbook."):
        assert word in out


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


def test_run_overwrites_no_index_of_somebody_else(attacklab: Any, checkout: Path) -> None:
    (checkout / "site").mkdir()
    (checkout / "site" / "index.md").write_text("Ours")
    status, _, err = attacklab("run --budget 0 --output site")
    assert status == 2
    assert "index.md was not written by attacklab, so it is kept; choose another --output" in err
    assert [path.name for path in (checkout / "site").iterdir()] == ["index.md"]


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
