"""The judge of what students hand in: attacks by fresh samples, verdicts by exact laws, repairs by both.

A file runs on its student's own machine, in a child process with a time limit; nothing guards against one that cheats.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.betting import judge
from attacklab.auditing.statistics.inference import Assessment
from attacklab.model.errors import OutsideDomain, TargetError, UsageError, in_one_line
from attacklab.model.findings import Counts, Verdict
from attacklab.model.random_bits import RandomBits, SeededBits
from attacklab.model.targets import Kind
from challenges.catalogue import CHALLENGES, Challenge
from challenges.laws import first_unproved
from challenges.texts import text

ALPHA = 1e-9
"""The probability with which a sound mechanism is said to be refuted by one file."""
TRIALS = 20_000
"""Fresh outputs of either input that an event is judged on."""
FEWEST_PAIRS = 3
"""How many pairs a verdict comes with."""
USED = 2_000
"""Outputs of an input whose mean error is held to the bound."""
SLOWER, GRACE = 50.0, 0.5
"""How many times longer than the original a repair may take, beyond so many seconds."""
SECONDS = 600.0
"""How long judging a file may take."""
START = "import sys; from challenges.grading import main; sys.exit(main(*sys.argv[1:]))"


@dataclass(frozen=True)
class Grade:
    """Whether a file solves its challenge, and what to tell the student."""

    passed: bool
    lines: tuple[str, ...]


def grade(path: Path, *, language: str = "en", seed: int | None = None, seconds: float = SECONDS) -> Grade:
    """Judge a file, in a child process.

    Args:
        path: the file.
        language: en or zh.
        seed: what all randomness is derived from.
        seconds: how long it may take.

    Raises:
        UsageError: the file cannot be judged: it cannot be read, fails or hangs, or its pair is not a neighbouring one.
    """
    words = [sys.executable, "-c", START, str(path.absolute()), language]
    words.append(str(secrets.randbits(64) if seed is None else seed))
    root = Path(__file__).parent.parent
    try:
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise UsageError(f"{path}: judging took more than {seconds:g} s; look for a loop that never ends") from None
    if done.returncode not in (0, 1) or not done.stdout:
        said = (done.stderr.strip() or f"it ended the process with status {done.returncode}").splitlines()[-1]
        raise UsageError(f"{path}: {said}")
    return Grade(done.returncode == 0, tuple(done.stdout.splitlines()))


def main(path: str, language: str, seed: str) -> int:
    """Judge a file in this process, and print what to tell the student; the status is 0 if it passes, else 1 or 2."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the student's code prints is not an answer
    try:
        with np.errstate(all="ignore"):
            judged = _Judging(path, language, np.random.default_rng(int(seed))).grade()
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    answers.write("\n".join(judged.lines) + "\n")
    answers.flush()
    return 0 if judged.passed else 1


class _Counting(RandomBits):
    """Bits of another source, counted."""

    def __init__(self, source: RandomBits) -> None:
        self._source, self.taken = source, 0

    def take(self, count: int) -> int:
        self.taken += count
        return self._source.take(count)


class _Failed(Exception):
    """What was handed in does not solve the challenge; holds the lines that say why."""


class _Judging:
    def __init__(self, path: str, language: str, rng: np.random.Generator) -> None:
        self._language, self._rng = language, rng
        self._file: dict[str, Any] = {"__name__": "handed_in"}
        _called("the file", lambda: exec(compile(Path(path).read_bytes(), path, "exec"), self._file))  # noqa: S102
        self._number = self._file.get("challenge")
        if type(self._number) is not int or not 1 <= self._number <= len(CHALLENGES):
            raise UsageError(f"it must name a challenge from 1 to {len(CHALLENGES)}, such as challenge = 1")
        self._challenge: Challenge = CHALLENGES[self._number - 1]
        self._uses = self._challenge.uses(rng)

    def grade(self) -> Grade:
        kind = "verdict" if "verdict" in self._file else "repair" if "repair" in self._file else "attack"
        heading = self._say("heading", number=self._number, name=self._challenge.name)
        missing = {"pairs"} if kind == "verdict" else {"pair", "event"}
        missing -= self._file.keys()
        if missing:
            raise UsageError(f"it must define {' and '.join(sorted(missing))}, as every {kind} does")
        try:
            lines = self._verdict() if kind == "verdict" else self._attack()
            lines += self._repair() if kind == "repair" else []
        except _Failed as failed:
            hint = self._say(f"{self._challenge.name}_hint" if kind == "attack" else f"{kind}_hint")
            return Grade(False, (heading, *failed.args, self._say("hint", hint=hint), self._say("not_passed")))
        return Grade(True, (heading, *lines, self._say("passed")))

    def _attack(self) -> list[str]:
        self._pair = self._challenge.pair(*_pair(_called("pair", self._file["pair"])))
        assessment = self._judged(self._challenge.mechanism)
        line = self._say(
            "advantage",
            trials=TRIALS,
            advantage=abs(assessment.advantage.estimate),
            epsilon=assessment.epsilon_lower,
            claimed=self._challenge.claim.epsilon,
            ceiling=self._challenge.claim.ceiling,
        )
        if not assessment.violated:
            raise _Failed(line, self._say("attack_failed"))
        return [line, self._say("attack_passed", alpha=ALPHA)]

    def _verdict(self) -> list[str]:
        if self._file["verdict"] != "sound":
            raise UsageError('verdict must be "sound"; if the claim is broken, hand in an attack')
        if not self._challenge.takes_bits:
            raise _Failed(self._say("no_laws"))
        pairs = [_pair(pair) for pair in _called("pairs", self._file["pairs"])]
        neighbours = [self._challenge.pair(*pair) for pair in pairs]
        apart = [pair for pair, two in zip(pairs, neighbours, strict=True) if not np.array_equal(two.first, two.second)]
        if len({repr(pair) for pair in apart}) < FEWEST_PAIRS:
            raise _Failed(self._say("few_pairs", fewest=FEWEST_PAIRS))
        for listed, why in ((pairs, "pair_not_proved"), (self._challenge.hard(self._rng), "other_not_proved")):
            unproved = first_unproved(self._challenge.mechanism, self._challenge.claim.epsilon, listed)
            if unproved is not None:
                raise _Failed(self._say(why, pair=_shown(unproved)))
        return [self._say("proved", pairs=len(pairs))]

    def _repair(self) -> list[str]:
        repair, mechanism = self._file["repair"], self._challenge.mechanism
        for use in self._uses:
            (_, _, ours), (outputs, bits, theirs) = (self._drawn(each, use.first, USED) for each in (mechanism, repair))
            if theirs > GRACE + SLOWER * ours:
                raise _Failed(self._say("slow", slower=SLOWER, seconds=theirs, original=ours))
            if self._challenge.tells_bits and not np.array_equal(outputs[:, 1], bits):
                raise _Failed(self._say("wrong_bits"))
            error = float(self._challenge.errors(use.first, outputs).mean())
            if not error <= use.bound:
                raise _Failed(self._say("useless", error=error, bound=use.bound, given=_shown(use.first)))
        lines = [self._say("repair_passed", slower=SLOWER)]
        if self._challenge.takes_bits:
            uses = [(use.first, use.second) for use in self._uses]
            pairs = [(_plain(self._pair.first), _plain(self._pair.second)), *uses, *self._challenge.hard(self._rng)]
            unproved = _called("repair", first_unproved, repair, self._challenge.claim.epsilon, pairs)
            if unproved is not None:
                raise _Failed(self._say("repair_not_proved", pair=_shown(unproved)))
            lines.append(self._say("repair_proved"))
        if self._judged(repair).violated:
            raise _Failed(self._say("still_refuted"))
        self._require_no_finding(repair)
        return lines

    def _require_no_finding(self, repair: Callable[..., Any]) -> None:
        """A default audit must fail, on the inputs that have to be accurate, too."""
        failures: list[UsageError] = []

        def release(input_: Any, trials: int, _: np.random.Generator) -> NDArray[Any]:
            if not self._challenge.takes(input_):
                raise OutsideDomain(f"{self._challenge.name} does not take {_shown(input_)}")
            try:
                return self._drawn(repair, input_, trials)[0]
            except UsageError as error:
                failures.append(error)
                raise TargetError(str(error)) from error

        pairs = [self._challenge.pair(use.first, use.second) for use in self._uses]
        target = self._challenge.target(release, f"repair of {self._challenge.name}", pairs=pairs)
        findings = audit(target, trials=TRIALS, alpha=ALPHA, seed=int(self._rng.integers(2**63)))
        if failures:
            raise _Failed(self._say("audit_failed", reason=failures[0]))
        for finding in findings:
            if finding.verdict is Verdict.VIOLATED:
                raise _Failed(self._say("audit_refuted", attack=finding.attack))

    def _drawn(self, mechanism: Callable[..., Any], input_: Any, trials: int) -> tuple[NDArray[Any], list[int], float]:
        """Outputs, the bits that each took, and the seconds."""
        input_ = _plain(input_)
        began, bits, name = time.perf_counter(), [], mechanism.__name__
        if self._challenge.takes_bits:
            source, released = SeededBits(self._rng), []
            for _ in range(trials):
                released.append(_called(name, mechanism, input_, counting := _Counting(source)))
                bits.append(counting.taken)
        else:
            released = _called(name, mechanism, input_, trials, self._rng)
        outputs, seconds = np.asarray(released), time.perf_counter() - began
        shape = (trials, 2) if self._challenge.tells_bits else (trials,)
        if outputs.shape != shape or outputs.dtype.kind not in "biuf" or not np.isfinite(outputs).all():
            raise UsageError(f"{name} must return finite numbers of shape {shape}, not {outputs.dtype} {outputs.shape}")
        if self._challenge.kind is Kind.SELECTION and not (
            outputs.dtype.kind in "iu" and outputs.min() >= 0 and outputs.max() < len(input_)
        ):
            raise UsageError(f"{name} must return indices of alternatives, from 0 to {len(input_) - 1}")
        return outputs, bits, seconds

    def _judged(self, mechanism: Callable[..., Any]) -> Assessment:
        """Judge the student's event on fresh outputs for the student's pair."""
        masks = []
        for input_ in (self._pair.first, self._pair.second):
            outputs = self._drawn(mechanism, input_, TRIALS)[0]
            mask = np.asarray(_called("event", self._file["event"], outputs))
            if mask.dtype != np.bool_ or mask.shape != (TRIALS,):
                raise UsageError(f"event(outputs) must return one bool for each output, not {mask.dtype} {mask.shape}")
            masks.append(mask)
        return judge(self._challenge.claim, Counts.of(*masks), ALPHA)

    def _say(self, key: str, **values: object) -> str:
        return text(self._language, key, **values)


def _called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{name} raised {in_one_line(error)}") from error


def _plain(input_: Any) -> Any:
    """An input in Python's own numbers and lists."""
    return input_.tolist() if isinstance(input_, np.ndarray | np.generic) else input_


def _pair(value: Any) -> Sequence[Any]:
    with contextlib.suppress(TypeError):
        if len(value) == 2:
            return tuple(value)
    raise UsageError(f"a pair is two inputs, not {_shown(value)}")


def _shown(value: Any) -> str:
    """An input, cut where it is long."""
    written = str(value)
    return written if len(written) <= 60 else f"{written[:57]}..."
