"""Checkpoints: wherever a run ends, one that continues from its file equals a run that was never interrupted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.auditing.referee import audit
from attacklab.model.code_fingerprint import code_fingerprint
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from attacklab.processes.checkpoint import SCHEMA, Checkpoint
from attacklab.processes.workers import Workers
from tests.system.attacklab.processes import process_targets as own
from tests.system.attacklab.processes.looking import wait_until
from tests.system.attacklab.processes.process_targets import Bets

ROOT = str(Path(__file__).parents[4])
ATTACKS = (Bets(("plain", "deadly")), Bets(name="second"))
RUN = {"target": "stub", "trials": 10, "seed": 3}


class Counting:
    """A release that counts its calls."""

    def __init__(self, release: Callable[..., Any] = own.noisy) -> None:
        self.release, self.calls = release, 0

    def __call__(self, records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        self.calls += 1
        outputs: np.ndarray = self.release(records, trials, rng)
        return outputs


def audited(
    checkpoint: Path | None, release: Callable[..., Any] = own.noisy, **settings: Any
) -> tuple[list[Finding], int, list[str]]:
    """The findings without times, how often the release was called, and what was said."""
    counting, said = Counting(release), list[str]()
    target = Target.dataset(counting, epsilon=settings.pop("epsilon", 1.0), name="stub")
    settings = {"attacks": ATTACKS, "trials": 2_000, "seed": 3, **settings}
    findings = audit(target, checkpoint=checkpoint, say=said.append, **settings)
    return [replace(finding, seconds=0.0) for finding in findings], counting.calls, said


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """A file's first line names the packages that were loaded by then, and an audit loads some as it computes."""
    audited(None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_run_goes_on_from_every_line_and_from_the_middle_of_every_line(path: Path) -> None:
    findings, calls, said = audited(path)
    assert findings == audited(None)[0]
    assert said == []
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) > 20
    drawn = []
    for number in range(1, len(lines)):
        partials = (b"", lines[number][: 1 + number % len(lines[number])], lines[number][:-1])
        partial = partials[number % 3]
        path.write_bytes(b"".join(lines[:number]) + partial)
        again, fewer, told = audited(path)
        assert again == findings
        assert path.read_bytes() == whole
        assert len(told) == (number > 1 or partial != b"")
        drawn.append(fewer)
    # Only what is missing is drawn: two calls a batch, besides the probes of attacks that still have batches to come.
    assert drawn[0] == calls
    assert drawn[-1] == 2 + 1
    assert audited(path)[1:] == (0, [f"{path}: continuing after {len(lines) - 1} results"])


def test_a_run_of_a_target_that_refuses_goes_on_from_its_lines_too(path: Path) -> None:
    findings = audited(path, own.refusing)[0]
    assert findings == audited(None, own.refusing)[0]
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert sum(b'"refused": true' in line for line in lines) == 3
    for number in (1, len(lines) // 2, len(lines) - 1):
        path.write_bytes(b"".join(lines[:number]))
        assert audited(path, own.refusing)[0] == findings
        assert path.read_bytes() == whole


def test_the_file_is_the_same_whatever_the_number_of_workers(path: Path) -> None:
    audit(own.sound, ATTACKS, trials=10_000, checkpoint=path)
    here = path.read_bytes()
    with ThreadPoolExecutor(2) as threads:  # each starts a process
        for count in (2, 8):
            path.unlink()
            audit(own.sound, ATTACKS, trials=10_000, checkpoint=path, where=Workers(threads, count).runner)
            assert path.read_bytes() == here


def test_every_line_is_json_and_says_what_it_holds(path: Path) -> None:
    findings, _calls, _said = audited(path, attacks=ATTACKS[:1], spend_all=True, trials=500)
    header, *entries = [json.loads(line)[1] for line in path.read_text().splitlines()]
    assert header["schema"] == SCHEMA
    assert header["run"]["seed"] == 3
    assert entries[0]["key"] == ["outlines", 0]
    assert [outline["pair"] for outline in entries[0]["result"]] == [finding.pair for finding in findings]
    roles = [(entry["key"][2], entry["key"][4]) for entry in entries[1:]]
    assert roles == [(0, "choose"), (0, "judge"), (1, "choose"), (1, "judge")]
    for finding, entry in zip(findings, (entries[2], entries[4]), strict=True):
        counts = finding.counts
        assert counts is not None
        assert entry["result"] == [[counts.first, counts.second, counts.trials, counts.both]]


def test_what_follows_damage_is_drawn_again(path: Path) -> None:
    findings, _, _ = audited(path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    middle = len(lines) // 2
    before, after = lines[:middle], lines[middle + 1 :]
    for damaged in (
        [*before, lines[middle].replace(b"counts", b"Counts"), *after],
        [*before, *after],
        [*before, lines[middle + 1], lines[middle], *lines[middle + 2 :]],
        [*before, lines[middle - 1], *lines[middle:]],
        [*before, b"\0" * 4096],
    ):
        path.write_bytes(b"".join(damaged))
        again, _, (said,) = audited(path)
        assert again == findings
        assert path.read_bytes() == whole
        told = f"continuing after {middle - 1} results; line {middle + 1} is damaged, so the rest is drawn again"
        assert said == f"{path}: {told}"


def test_a_file_of_another_run_is_refused_and_left_alone(path: Path) -> None:
    audited(path)
    content = path.read_bytes()
    others: list[tuple[dict[str, Any], str]] = [
        ({"seed": 4}, "seed 3 there, 4 here"),
        ({"trials": 2_001}, "trials 2000 there, 2001 here"),
        ({"alpha": 1e-3}, "alpha 1e-06 there, 0.001 here"),
        ({"spend_all": True}, "spend_all False there, True here"),
        ({"epsilon": 2.0}, "claim "),
        ({"attacks": ATTACKS[:1]}, "other attacks"),
    ]
    for settings, difference in others:
        with pytest.raises(UsageError, match=r"belongs to another run \(.*\); choose another file") as raised:
            audited(path, **settings)
        assert difference in str(raised.value)
        assert "\n" not in str(raised.value)
        assert path.read_bytes() == content


def test_what_tells_two_runs_apart_is_told_in_one_short_line(path: Path) -> None:
    code = {f"module_{number}": "sha256:0" for number in range(200)}
    run = {"trials": 10, "attacks": ["x" * 5_000], "seed": 3, "numpy": "1.0", "code": code}
    with Checkpoint(path, run, lambda _: None):
        pass
    everything = dict.fromkeys(("trials", "attacks", "seed", "numpy", "scipy"), "another")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"trials": 20, "attacks": ["y"]}, "trials 10 there, 20 here"),
        ({"attacks": ["y"]}, "other attacks"),
        ({"attacks": ["y"], "seed": 4}, "seed 3 there, 4 here; other attacks"),
        ({"code": dict.fromkeys(code, "")}, "changed since: module_0, module_1, module_10, and 197 more"),
        (
            everything,
            "trials 10 there, 'another' here; seed 3 there, 'another' here; numpy '1.0' there, 'another' here;",
        ),
    ]
    for settings, told in cases:
        with pytest.raises(UsageError, match=re.escape(f"belongs to another run ({told}")) as raised:
            Checkpoint(path, run | settings, lambda _: None)
        assert len(str(raised.value)) - len(str(path)) < 230
    assert "; and 1 more)" in str(raised.value)


def test_a_file_of_another_version_of_the_target_or_of_numpy_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit(replace(own.sound, version="1"), ATTACKS, trials=10, checkpoint=path)
    with pytest.raises(ValueError, match=r"another run \(target_version '1' there, '2' here\)"):
        audit(replace(own.sound, version="2"), ATTACKS, trials=10, checkpoint=path)
    monkeypatch.setattr("attacklab.auditing.referee.environment", lambda: {"numpy": "1.0"})
    with pytest.raises(ValueError, match=r"another run \(.*numpy '[0-9.]+' there, '1.0' here"):
        audit(replace(own.sound, version="1"), ATTACKS, trials=10, checkpoint=path)


@pytest.mark.parametrize("isolate", [False, True])
def test_a_run_does_not_go_on_after_a_module_that_its_target_imports_has_changed(tmp_path: Path, isolate: bool) -> None:
    """In processes of their own, since a module is imported once."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").touch()
    noise = tmp_path / "mine" / "noise.py"
    noise.write_text("def noise(rng, trials):\n    return rng.laplace(size=trials)\n")
    (tmp_path / "target.py").write_text(
        "from mine.noise import noise\n\ndef noisy(answer, trials, rng):\n    return answer + noise(rng, trials)\n"
    )
    line = [sys.executable, "-c", "from attacklab.cli import main; main()"]
    line += ["audit", "target.py:noisy", "--kind", "noise", "--epsilon", "1", "--attack", "generator_seed"]
    line += ["--trials", "100", "--resume", "kept", *(["--isolate"] if isolate else [])]

    def told() -> tuple[int, str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, str(tmp_path)])}
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        return done.returncode, done.stderr

    told()
    assert "kept: continuing after" in told()[1]
    noise.write_text("def noise(rng, trials):\n    return 2 * rng.laplace(size=trials)\n")
    status, said = told()
    assert status == 2
    assert f"belongs to another run (changed since: mine.noise{' in its process' if isolate else ''})" in said


def test_a_checkpoint_knows_the_code_that_both_runs_have_loaded(path: Path) -> None:
    def opened(code: dict[str, str]) -> None:
        Checkpoint(path, {**RUN, "code": code}, print).__exit__()

    opened({"mine": "1", "yours": "1"})
    opened({"mine": "1", "later": "1"})
    with pytest.raises(ValueError, match=r"another run \(changed since: mine\)"):
        opened({"mine": "2"})


def test_the_code_that_is_loaded_is_hashed_and_packages_have_versions() -> None:
    known = code_fingerprint()
    content = Path(own.__file__).read_bytes()
    assert known[own.__name__] == "sha256:" + hashlib.sha256(content).hexdigest()[:16]
    assert known["the package numpy"] == np.__version__
    assert not {"json", "numpy", "pytest"} & set(known)


def test_a_file_that_is_not_a_checkpoint_is_refused_and_left_alone(path: Path) -> None:
    for content in (b"something else\n", b"\n", b"\xff\xfe\0", b"[1, 2]\n", b'["0123456789abcdef", {"schema": "x"}]\n'):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="is not a checkpoint of an audit"):
            audited(path)
        assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files there")
def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("/dev/zero", "/dev/null", "pipe", "folder"):
        with pytest.raises(UsageError, match="cannot keep results: it is not a regular file; choose another one"):
            audited(tmp_path / name)


def test_a_result_under_another_key_is_not_taken(path: Path) -> None:
    with Checkpoint(path, RUN, lambda _: None) as one:
        one.keep(["counts", 0], [1])
    with (
        Checkpoint(path, RUN, lambda _: None) as again,
        pytest.raises(
            ValueError, match=r"has the result of \['counts', 0\] where this run needs that of \['counts', 1\]"
        ),
    ):
        again.recalled(["counts", 1])


def test_a_failure_is_kept_like_any_other_result(path: Path) -> None:
    def failing(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        if records[0] == 7:
            raise ValueError("seven")
        return own.noisy(records, trials, rng)

    findings, _, _ = audited(path, failing, trials=500)
    assert [finding.verdict is Verdict.VIOLATED for finding in findings] == [False, True, False]
    content = path.read_bytes()
    assert audited(path, failing, trials=500)[:2] == (findings, 0)
    path.write_bytes(b"".join(content.splitlines(keepends=True)[:-3]))
    assert audited(path, failing, trials=500)[0] == findings
    assert path.read_bytes() == content
    path.unlink()
    unprobed, calls, _ = audited(path, lambda *_: 1 / 0)
    assert [finding.verdict for finding in unprobed] == [Verdict.ERROR] * 2
    assert audited(path, lambda *_: 1 / 0)[:2] == (unprobed, 0)
    assert calls == 2


def test_an_interrupted_run_keeps_what_it_has_drawn(path: Path) -> None:
    calls = 0

    def interrupted(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 20:
            raise KeyboardInterrupt
        return own.noisy(records, trials, rng)

    with pytest.raises(KeyboardInterrupt):
        audited(path, interrupted)
    findings, left, (said,) = audited(path)
    assert said.startswith(f"{path}: continuing after ")
    assert findings == audited(None)[0]
    assert 0 < left < audited(None)[1]


def test_memory_does_not_grow_with_the_length_of_the_file(path: Path) -> None:
    def peak(entries: int) -> int:
        path.unlink(missing_ok=True)
        with Checkpoint(path, RUN, lambda _: None) as one:
            for number in range(entries):
                one.keep(["counts", number], [[number, number, number, number]])
        tracemalloc.start()
        with Checkpoint(path, RUN, lambda _: None) as again:
            for number in range(entries):
                assert again.recalled(["counts", number]) == [[number] * 4]
            assert again.recalled(["counts", entries]) is None
        _now, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(10)
    assert peak(3_000) < 1.2 * peak(100)


SLOW_TARGET = """
import time
from attacklab.model.targets import Target

def noisy(answer, trials, rng):
    time.sleep(0.01)
    return int(answer) + rng.geometric(0.6, trials) - rng.geometric(0.6, trials)

target = Target.noise(noisy, epsilon=1.0)
"""


def test_ctrl_c_leaves_a_run_that_the_printed_line_continues(tmp_path: Path) -> None:
    def start(line: str) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - the project's own command line
            [sys.executable, "-c", "from attacklab.cli import main; main()", *line.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": ROOT},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def has_results() -> bool:
        return kept.exists() and kept.read_bytes().count(b"\n") >= 5

    (tmp_path / "slow.py").write_text(SLOW_TARGET)
    kept = tmp_path / "run.jsonl"
    line = "audit slow.py:target --attack special_values --trials 100000 --seed 2 --workers 2 --resume run.jsonl"
    process = start(f"{line} --json run.json")
    assert wait_until(has_results, 60.0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the workers get it too
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.endswith(f"attacklab: interrupted; continue with: attacklab {line} --json run.json\n")
    assert not (tmp_path / "run.json").exists()
    again = start(line.replace("--workers 2", "--workers 1"))
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0
    assert err.startswith("attacklab: run.jsonl: continuing after ")
    assert "special_values" in out


def test_a_first_line_that_was_not_written_to_its_end_is_written_again(path: Path) -> None:
    findings, _, _ = audited(path)
    whole = path.read_bytes()
    first = whole.splitlines()[0]
    for share in (0.0, 0.3, 1.0):
        path.write_bytes(first[: int(share * len(first))])
        assert audited(path)[0] == findings
        assert path.read_bytes() == whole


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there")
def test_of_two_runs_that_begin_the_same_file_at_once_one_writes_it(path: Path) -> None:
    """Whoever comes between another one's look at the file and its first line."""
    content = list[bytes]()

    class Slow(Checkpoint):
        def _begin(self, first: bytes) -> None:
            with pytest.raises(UsageError, match="another run is writing"):
                Checkpoint(path, {**RUN, "seed": 4}, lambda _: None)
            content.append(path.read_bytes())
            super()._begin(first)

    with Slow(path, RUN, lambda _: None) as one:
        one.keep([1], "a")
    assert content == [b""]
    with Checkpoint(path, RUN, lambda _: None) as again:
        assert again.recalled([1]) == "a"


@pytest.mark.skipif(sys.platform == "win32", reason="files have no largest size there")
def test_a_run_whose_disk_is_full_says_so_and_can_be_gone_on_with(path: Path) -> None:
    """The largest size of a file stands for the size of the disk: both end a line in its middle."""
    import resource

    findings, _, _ = audited(path)
    whole = path.read_bytes()
    cut = (whole.index(b"\n") + len(whole)) // 2
    path.unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (cut, hard))
    try:
        full, _, (told,) = audited(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert full == findings
    assert told == f"cannot write to {path}: File too large; the audit goes on, and no further results are kept"
    assert path.read_bytes() == whole[:cut]
    again, _, (said,) = audited(path)
    assert again == findings
    assert path.read_bytes() == whole
    assert said.endswith(" is damaged, so the rest is drawn again")


def test_the_end_of_the_workers_is_not_kept_as_a_failure_of_the_target(path: Path) -> None:
    class Ending(Executor):
        """Runs so many calls and then breaks for good."""

        def __init__(self, calls: int) -> None:
            self.left = calls

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.left -= 1
            if self.left < 0:
                raise BrokenExecutor("gone")
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    settings: dict[str, Any] = {"trials": 2_000, "checkpoint": path}
    whole = audit(own.sound, ATTACKS, **settings)
    content = path.read_bytes()
    path.unlink()
    broken = audit(own.sound, ATTACKS, **settings, where=Workers(Ending(content.count(b"\n") // 2), 1).runner)
    assert [finding.verdict is Verdict.ERROR for finding in broken] == [False, True, True]
    assert content.startswith(path.read_bytes())
    again = audit(own.sound, ATTACKS, **settings)
    assert [replace(one, seconds=0.0) for one in again] == [replace(one, seconds=0.0) for one in whole]
    assert path.read_bytes() == content
