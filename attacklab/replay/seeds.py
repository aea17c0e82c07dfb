"""What generators are seeded with: noise of a seed that everybody knows, or that follows the data, is none.

A generator that outlives a run begins anew in each, so that a run shows what a process of its own would. A state that
code may have read stands for a place in a stream of draws; one that it sets is such a place, or else a seed.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import inspect
import random
import textwrap
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from attacklab.replay.session import Session, Site, here
from attacklab.replay.traced import plain

BASE_GENERATOR, BASE_STATE = np.random.Generator, np.random.RandomState
STATE = "a generator's state"
MAKERS = ("default_rng", "RandomState", "Random", "PCG64", "MT19937", "Philox", "SFC64", "SeedSequence", "seed")
"""What takes a seed, by the last part of its name."""

_python_state, _set_python_state = random.Random.getstate, random.Random.setstate


class Begun(NamedTuple):
    """How a generator began that was made or seeded with a number.

    Attributes:
        what: it in words.
        value: the number, as far as it is known.
        stream: what its draws share with those of another of the same seed.
        state: where each run begins; None where that is not known.
        site: the line that seeded it; None where that was before any run.
    """

    what: str
    value: Any
    stream: Any
    state: Any = None
    site: Site | None = None


@dataclass
class Seeds:
    """What is known of a generator.

    Attributes:
        stream: what its draws share with those of another of the same seed; None where they are its own.
        drawn: how many there were.
        begun: how it began; None where the system seeded it, or its caller.
        session: the run that it was last asked in.
        told: its state when code could last read or set it; None where none could.
    """

    stream: Any = None
    drawn: int = 0
    begun: Begun | None = None
    session: Session | None = None
    told: Any = None


def seeds_of(source: Any) -> Seeds:
    """What is known of a generator: it holds that itself."""
    seeds: Seeds = vars(source).setdefault("_seeds_of_replay", Seeds())
    return seeds


def forget(source: Any) -> None:
    """Let nothing be known of a generator."""
    vars(source).pop("_seeds_of_replay", None)


def note_seed(source: Any, what: str, seed: Any) -> None:
    """Keep what a generator is seeded with in this run, once it is."""
    session = Session.current
    if session is None or session.inside:
        return
    if isinstance(seed, np.random.BitGenerator) and _is_moved(seed):
        seed = None if _digest(source) in session.states else _digest(source)
    bits, made = getattr(seed, "seed_seq", seed), Seeds(session=session)
    value = plain(getattr(bits, "entropy", bits))
    is_systems = isinstance(value, int) and hasattr(bits, "entropy") and 1 << 96 <= value < 1 << 128
    is_others = isinstance(value, np.random.BitGenerator | BASE_GENERATOR | BASE_STATE)
    is_shared = is_systems and bits is not seed  # by two generators
    if value is not None and not is_others and not is_shared:
        value = tuple(np.ravel(value).tolist()) if isinstance(value, list | tuple | np.ndarray) else value
        made.stream = (what, repr(value), *getattr(bits, "spawn_key", ()))  # children of one seed draw differently
        if not is_systems:
            site = here()
            made.begun = Begun(what, value, made.stream, state_of(source), site)
            session.seeds.append((site, what, value))
    vars(source)["_seeds_of_replay"] = made


def begun(generator: Any) -> Begun | None:
    """How a generator began that was made before any run; None where the system, or somebody's random bits, seeded it.

    Of numpy's, those of a number below 2⁶⁴ are known; of Python's, those of one below 2³² that drew nothing yet.
    """
    state = state_of(generator)
    if isinstance(generator, random.Random):
        value: Any = None if isinstance(generator, random.SystemRandom) else _seed_behind(state)
    else:
        seeds = getattr(bits_behind(generator), "seed_seq", generator)
        value = "a number" if seeds is None else getattr(seeds, "entropy", None)  # None: by the legacy way
        value = value if seeds is None or (isinstance(value, int) and value < 1 << 64) else None
    if value is None:
        return None
    what = f"the {type(generator).__name__} of the code"
    return Begun(what, value, (what, repr(value), repr(state)), state)


def is_seeded_in(kind: type, value: Any) -> bool:
    """Whether the source of a class makes a generator with this number, or with any where the number is not known."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return False
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in MAKERS:
            given = [*call.args, *(one.value for one in call.keywords)]
            seeds = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, int)]
            if value in seeds or (seeds and not isinstance(value, int)):
                return True
    return False


def begin(source: Any, session: Session) -> Seeds | None:
    """Let a generator of an earlier run begin anew, and see whether its state was set; None of no generator."""
    if not hasattr(source, "__dict__"):
        return None
    seeds = seeds_of(source)
    known = seeds.begun
    if known is not None and seeds.session is not session:
        seeds.session, seeds.stream, seeds.drawn, seeds.told = session, known.stream, 0, None
        if known.state is not None:
            set_state(source, known.state)
        session.seeds.append((known.site or here(), known.what, known.value))
    if seeds.told is not None:
        _note_state(source, seeds, session)
    return seeds


def open_state(source: Any) -> None:
    """Note that code is about to read or to set the state of a generator: it tells a place in a stream from now on."""
    session = Session.current
    if session is None or session.inside:
        return
    seeds = begin(source, session)
    assert seeds is not None  # noqa: S101 - for mypy
    if (seeds.stream or ())[:2] not in session.known:
        seeds.stream = seeds.stream or (STATE, f"number {len(session.states)} of the run")
        _shuffle(source, session)
        session.states[_digest(source)] = replace(seeds)
    seeds.told = _digest(source)


def note_state(source: Any) -> None:
    """Note that code has set the state of a generator."""
    session = Session.current
    if session is not None and not session.inside:
        begin(source, session)


def _note_state(source: Any, seeds: Seeds, session: Session) -> None:
    digest = _digest(source)
    if digest != seeds.told:
        known = session.states.get(digest)
        if known is None:
            site = here()
            session.seeds.append((site, STATE, digest))
            stream = (STATE, repr(digest))
            known = Seeds(stream, 0, Begun(STATE, digest, stream, state_of(source), site))
        seeds.stream, seeds.drawn, seeds.begun = known.stream, known.drawn, known.begun
    seeds.told = None if seeds.stream[:2] in session.known else digest


def copied(source: Any, made: Any) -> Any:
    """A copy of a watched generator, which draws what that one does."""
    open_state(source)
    vars(made)["_seeds_of_replay"] = copy.copy(seeds_of(source))
    return made


def bits_behind(generator: Any) -> Any:
    """The bit generator of a generator of numpy's."""
    is_modern = isinstance(generator, BASE_GENERATOR)
    return BASE_GENERATOR.bit_generator.__get__(generator) if is_modern else generator._bit_generator


def state_of(source: Any) -> Any:
    """The state of a generator; None of what is none."""
    if isinstance(source, random.Random):
        return _python_state(source)
    return bits_behind(source).state if isinstance(source, BASE_GENERATOR | BASE_STATE) else None


def _is_moved(bits: Any) -> bool:
    """Whether bits are not where their seed begins: they jumped, were used, or had their state set."""
    seeds = getattr(bits, "seed_seq", None)
    return seeds is not None and repr(type(bits)(seeds).state) != repr(bits.state)


def set_state(source: Any, state: Any) -> None:
    """Put a generator where it was."""
    if isinstance(source, random.Random):
        _set_python_state(source, state)
    else:
        bits_behind(source).state = state


def _shuffle(source: Any, session: Session) -> None:
    """Give a generator, which draws nothing itself, a state that no other has."""
    seed = int(session.rng.integers(1 << 62))
    session.inside += 1
    made = random.Random(seed) if isinstance(source, random.Random) else BASE_GENERATOR(type(bits_behind(source))(seed))
    session.inside -= 1
    set_state(source, state_of(made))


def _seed_behind(state: Any) -> int | None:
    """The seed below 2³² that Python's generator was given, if it drew nothing since: its first steps, undone."""
    numbers = state[1]
    old = (numbers[1] + 1) ^ _spread(numbers[623], 1566083941)
    second = (numbers[2] + 2) ^ _spread(old, 1566083941)
    third = (numbers[3] + 3) ^ _spread(numbers[2], 1566083941)
    base = 19650218
    for place in range(1, 4):
        base = (_spread(base, 1812433253) + place) % (1 << 32)
    seed = ((third % (1 << 32)) - (base ^ _spread(second % (1 << 32), 1664525))) % (1 << 32)
    return seed if _python_state(random.Random(seed))[1] == numbers else None


def _spread(number: int, by: int) -> int:
    """A step of the Mersenne Twister's seeding (Matsumoto and Nishimura 1998, as revised in 2002)."""
    return (number ^ (number >> 30)) * by % (1 << 32)


def _digest(source: Any) -> str:
    """What tells the state of a generator from others, in a few letters."""
    state = state_of(source)
    parts = state.get("state", state) if isinstance(state, dict) else state
    key = parts.get("key") if isinstance(parts, dict) and "pos" in parts else None
    told = key.tobytes() + repr(parts["pos"]).encode() if isinstance(key, np.ndarray) else repr(parts).encode()
    return hashlib.sha256(told).hexdigest()[:12]
