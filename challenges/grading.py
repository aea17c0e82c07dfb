"""The judge of what students hand in: attacks by fresh samples, verdicts by exact laws, repairs by both.

The student's event sees each distinct output once, in two processes and in two orders, so that it can know neither
which input an output came from nor the other outputs. A repair is drawn from in blocks of one size, on inputs that no
file can know, and draws the same blocks again in another process and in another order: so it can neither keep anything
from call to call nor know what it is drawn for. Pairs are checked to be neighbouring here, and originals run here, out
of the file's reach.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.referee import audit
from attacklab.auditing.statistics.betting import judge
from attacklab.auditing.statistics.inference import Assessment
from attacklab.model.errors import OutsideDomain, TargetError, UsageError
from attacklab.model.findings import Counts, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind
from challenges import child
from challenges.catalogue import Challenge
from challenges.child import BLOCK, draw
from challenges.handed_in import SECONDS, HandedIn
from challenges.laws import first_unproved
from challenges.texts import text

ALPHA = 1e-9
"""The probability with which a sound mechanism is said to be refuted by one file."""
TRIALS = 20_000
"""Fresh outputs of either input that an event is judged on."""
FEWEST_PAIRS, MOST_PAIRS = 3, 100
"""How many pairs a verdict comes with."""
USED = 2_000
"""Outputs of an input whose mean error is held to the bound."""
SLOWER = 50.0
"""How many times longer than the original a repair may take, beyond `GRACE` seconds."""
GRACE = 0.5
CHUNK = 1_000
DRAWN_AGAIN = 16
"""How many draws of a repair are made again in another process, the first few among them."""


@dataclass(frozen=True)
class Grade:
    """What is said of a file.

    Attributes:
        passed: whether it solves its challenge.
        lines: what to tell the student.
    """

    passed: bool
    lines: tuple[str, ...]


def grade(path: Path, *, language: str = "en", seed: int | None = None, seconds: float = SECONDS) -> Grade:
    """Judge a file.

    Args:
        path: the file.
        language: one of `LANGUAGES`.
        seed: what all randomness is derived from; by default nobody knows it.
        seconds: how long one request to the student's code may take.

    Raises:
        UsageError: the file cannot be judged: it cannot be read, breaks a rule, fails, hangs, or its pair is not a
            neighbouring one.
        OSError: it cannot be opened.
    """
    entropy = secrets.randbits(128) if seed is None else seed
    with ExitStack() as open_files:

        def opened() -> HandedIn:
            return open_files.enter_context(closing(HandedIn(path, seconds=seconds)))

        return _Judging(opened, path, language, np.random.default_rng(entropy)).grade()


class _Failed(Exception):
    """What was handed in does not solve the challenge; holds the lines that say why."""


class _Judging:
    def __init__(self, opened: Callable[[], HandedIn], path: Path, language: str, rng: np.random.Generator) -> None:
        self._file, self._opened, self._path, self._language, self._rng = opened(), opened, path, language, rng
        self._challenge: Challenge = self._file.challenge
        self._uses = self._challenge.uses(rng)
        self._draws: list[tuple[Any, NDArray[np.uint64], list[bytes]]] = []

    def grade(self) -> Grade:
        parts = self._file.parts
        if {"verdict", "repair"} <= parts or {"verdict", "event"} <= parts:
            raise UsageError(f"{self._path}: hand in a verdict, or an attack, or an attack with a repair")
        heading = self._say("heading", number=self._file.number, name=self._challenge.name)
        try:
            if "verdict" in parts:
                lines = self._verdict()
            else:
                missing = {"pair", "event"} - parts
                if missing:
                    raise UsageError(f"{self._path}: defines no {' and no '.join(sorted(missing))}")
                lines = self._attack()
                if "repair" in parts:
                    lines += self._repair()
        except _Failed as failed:
            kind = "verdict" if "verdict" in parts else "repair" if "repair" in parts else "attack"
            hint = self._say(f"{self._challenge.name}_hint" if kind == "attack" else f"{kind}_hint")
            return Grade(False, (heading, *failed.args, self._say("hint", hint=hint), self._say("not_passed")))
        return Grade(True, (heading, *lines, self._say("passed")))

    def _attack(self) -> list[str]:
        assessment = self._judged(lambda input_: self._original(input_, TRIALS)[0])
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
        if self._file.verdict != "sound":
            raise UsageError(f'{self._path}: a verdict is "sound"; show the opposite by an attack')
        if "pairs" not in self._file.parts:
            raise UsageError(f"{self._path}: a verdict comes with pairs(), a list of neighbouring pairs to prove")
        if not self._challenge.takes_bits:
            raise _Failed(self._say("no_laws"))
        pairs = self._file.ask(child.pairs)
        if len(pairs) > MOST_PAIRS:
            raise UsageError(f"{self._path}: pairs() has {len(pairs)} pairs; give at most {MOST_PAIRS}")
        apart = {repr(two) for two in pairs if self._neighbours(two) and not np.array_equal(np.asarray(two[0]), two[1])}
        if len(apart) < FEWEST_PAIRS:
            raise _Failed(self._say("few_pairs", fewest=FEWEST_PAIRS))
        for listed, why in ((pairs, "pair_not_proved"), (self._challenge.hard(self._rng), "other_not_proved")):
            unproved = first_unproved(self._challenge.mechanism, self._challenge.claim.epsilon, listed)
            if unproved is not None:
                raise _Failed(self._say(why, pair=_shown(unproved)))
        return [self._say("proved", pairs=len(pairs))]

    def _repair(self) -> list[str]:
        self._require_speed()
        self._require_use()
        if self._challenge.takes_bits:
            uses = [(use.first, use.second) for use in self._uses]
            listed = [(self._pair.first, self._pair.second), *uses, *self._challenge.hard(self._rng)]
            unproved = self._file.ask(child.unproved, self._file.number, listed)
            if unproved is not None:
                raise _Failed(self._say("repair_not_proved", pair=_shown(unproved)))
        if self._judged(lambda input_: self._repaired(input_, TRIALS)[0]).violated:
            raise _Failed(self._say("still_refuted"))
        self._require_no_finding()
        self._require_no_memory()
        lines = [self._say("repair_passed", slower=SLOWER)]
        return [*lines, self._say("repair_proved")] if self._challenge.takes_bits else lines

    def _require_speed(self) -> None:
        for use in self._uses:
            ours, theirs = self._original(use.first, USED)[1], self._repaired(use.first, USED)[2]
            if theirs > GRACE + SLOWER * ours:
                raise _Failed(self._say("slow", slower=SLOWER, seconds=theirs, original=ours))

    def _require_use(self) -> None:
        for use in self._uses:
            outputs, bits, _ = self._repaired(use.first, USED)
            if self._challenge.tells_bits and not np.array_equal(outputs[:, 1], bits):
                raise _Failed(self._say("wrong_bits"))
            error = float(self._challenge.errors(use.first, outputs).mean())
            if not error <= use.bound:
                raise _Failed(self._say("useless", error=error, bound=use.bound, given=_shown(use.first)))

    def _require_no_finding(self) -> None:
        """A default audit must fail, on the inputs that have to be accurate and on pairs like the student's, too."""
        failures: list[UsageError] = []

        def release(input_: Any, trials: int, _: np.random.Generator) -> NDArray[Any]:
            if not self._challenge.takes(input_):
                raise OutsideDomain(f"{self._challenge.name} does not take {_shown(input_)}")
            try:
                return self._repaired(input_, trials)[0]
            except UsageError as error:
                failures.append(error)
                raise TargetError(str(error)) from error

        pairs = [self._challenge.pair(use.first, use.second) for use in self._uses]
        pairs += self._challenge.nearby(self._pair, self._rng)
        target = self._challenge.target(release, f"repair of {self._challenge.name}", pairs=pairs)
        findings = audit(target, trials=TRIALS, alpha=ALPHA, seed=int(self._rng.integers(2**63)))
        if failures:
            raise _Failed(self._say("audit_failed", reason=failures[0]))
        for finding in findings:
            if finding.verdict is Verdict.VIOLATED:
                raise _Failed(self._say("audit_refuted", attack=finding.attack))

    def _require_no_memory(self) -> None:
        first, rest = self._draws[: DRAWN_AGAIN // 2], self._draws[DRAWN_AGAIN // 2 :]
        picked = self._rng.permutation(len(rest))[: DRAWN_AGAIN - len(first)]
        drawn = [*first, *(rest[place] for place in picked)]
        for number in self._rng.permutation(len(drawn)):
            input_, seeds, before = drawn[number]
            order = self._rng.permutation(len(seeds))
            again = _digests(self._again.ask(child.repaired, self._file.number, input_, seeds[order].tolist())[0])
            if again != [before[place] for place in order]:
                raise UsageError(
                    f"{self._path}: repair answers differently when it is called again for the same input; "
                    "draw from what it is given alone, and keep nothing between calls"
                )

    def _original(self, input_: Any, trials: int) -> tuple[NDArray[Any], float]:
        outputs, _, seconds = draw(self._challenge, self._challenge.mechanism, input_, self._seeds(trials).tolist())
        return outputs[:trials], seconds

    def _repaired(self, input_: Any, trials: int) -> tuple[NDArray[Any], NDArray[Any], float]:
        seeds = self._seeds(trials)
        outputs, bits, seconds = self._file.ask(child.repaired, self._file.number, input_, seeds.tolist())
        self._draws.append((input_, seeds, _digests(outputs)))
        if outputs.shape[1:] != ((2,) if self._challenge.tells_bits else ()):
            raise UsageError(f"{self._path}: repair gave outputs of shape {outputs.shape[1:]}")
        if outputs.dtype.kind == "f" and not np.isfinite(outputs).all():
            raise UsageError(f"{self._path}: repair gave a number that is not finite")
        if self._challenge.kind is Kind.SELECTION and not (
            outputs.dtype.kind in "iu" and outputs.min() >= 0 and outputs.max() < len(input_)
        ):
            raise UsageError(f"{self._path}: repair gave something other than the numbers of alternatives, from 0")
        return outputs[:trials], bits[:trials], seconds

    def _judged(self, drawn: Callable[[Any], NDArray[Any]]) -> Assessment:
        """Judge the student's event on fresh outputs for the student's pair."""
        sides = [drawn(input_) for input_ in (self._pair.first, self._pair.second)]
        if len({side.dtype for side in sides}) > 1:
            raise UsageError(f"{self._path}: repair gives outputs of different types for the two inputs")
        together = np.concatenate(sides)
        rows = np.ascontiguousarray(together).reshape(len(together), -1)
        bits = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        _, places, inverse = np.unique(bits, return_index=True, return_inverse=True)
        distinct = together[places]
        members = self._members(self._file, distinct, len(distinct))
        if not np.array_equal(members, self._members(self._again, distinct, CHUNK)):
            raise UsageError(
                f"{self._path}: event answers differently for the same output; "
                "let its answer depend on each output alone"
            )
        first, second = np.split(members[inverse.ravel()], 2)
        return judge(self._challenge.claim, Counts.of(first, second), ALPHA)

    def _members(self, handed_in: HandedIn, distinct: NDArray[Any], chunk: int) -> NDArray[np.bool_]:
        order = self._rng.permutation(len(distinct))
        members = np.empty(len(distinct), dtype=bool)
        for part in np.split(order, range(chunk, len(order), chunk)):
            members[part] = handed_in.ask(child.members, distinct[part])
        return members

    def _neighbours(self, two: Any) -> NeighbouringPair:
        if len(two) != 2:
            raise UsageError(f"{self._path}: a pair has two inputs, not {len(two)}")
        try:
            return self._challenge.pair(*two)
        except UsageError as error:
            raise UsageError(f"{self._path}: {error}") from error

    @cached_property
    def _pair(self) -> NeighbouringPair:
        """The student's pair, asked for once: it is the same for the mechanism and for its repair."""
        return self._neighbours(self._file.ask(child.pair))

    @cached_property
    def _again(self) -> HandedIn:
        """The same file in another process, which knows nothing of what this one was asked."""
        return self._opened()

    def _seeds(self, trials: int) -> NDArray[np.uint64]:
        """The seeds of the blocks of so many outputs."""
        return self._rng.integers(2**63, size=-(-trials // BLOCK), dtype=np.uint64)

    def _say(self, key: str, **values: object) -> str:
        return text(self._language, key, **values)


def _digests(outputs: NDArray[Any]) -> list[bytes]:
    """A digest of each block."""
    blocks = np.split(outputs, len(outputs) // BLOCK)
    return [hashlib.sha256(f"{block.dtype} {block.shape} ".encode() + block.tobytes()).digest() for block in blocks]


def _shown(value: Any) -> str:
    """An input, cut where it is long."""
    written = str(value)
    return written if len(written) <= 60 else f"{written[:57]}..."
