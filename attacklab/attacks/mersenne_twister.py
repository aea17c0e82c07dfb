"""Recover the state of a Mersenne Twister, MT19937, from parts of its outputs, by linear algebra over GF(2).

Every bit of every output is an exclusive or of bits of the state, so known bits of outputs are linear equations. The
unknowns here are the bits of the first 624 outputs that are *not* known. Tempering, which turns a word of the state
into an output, is a bijection, so those outputs are the state, and only later outputs add equations, one for each known
bit. The recurrence is the same at every word, so it does not matter how many words were drawn before the first output
seen. If fewer than 32 bits of each output are known, 1247 outputs are needed, however many bits that is: the last bits
of output k show only in the twist that makes word k + 623.

An affine form in the unknowns is a row of 64-bit words, whose very last bit is its constant. Arrays of forms have the
shape (words of the generator, 32 bits from the least significant on, row).

Source: Matsumoto and Nishimura 1998, 'Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random
number generator'. Section 1 says that it is not meant for cryptography.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WORDS = 624
MIDDLE = 397
TWIST = 0x9908B0DF
BITS = 32

Forms = NDArray[np.uint64]

_CONSTANT = np.uint64(1) << np.uint64(63)

_TIDIED = 512  # after this many unknowns are solved for, equations that follow from those already used are dropped

GLANCED = 40
"""The equations of this many outputs after the first 624 are solved first, because they hold only twice as many of the
first 624. Noise of another generator contradicts them, so it is refused before all equations are solved."""

_TEMPERING = ((-11, 0xFFFFFFFF), (7, 0x9D2C5680), (15, 0xEFC60000), (-18, 0xFFFFFFFF))
"""The shift to the left and the mask of each step y ← y ⊕ (shifted y & mask)."""


class StateNotFound(ValueError):
    """The known bits are not outputs of the generator, or are too few to determine its state."""


def recover_state(outputs: NDArray[np.uint32], known: NDArray[np.uint32]) -> np.random.RandomState:
    """Recover the generator from consecutive outputs, some of whose bits are known.

    Args:
        outputs: the outputs, more than 624 of them; unknown bits are ignored.
        known: masks of the bits that are known.

    Returns:
        A generator whose first output is the one after the first 624.

    Raises:
        StateNotFound: the outputs are too few to determine the state, or no state of the generator gives the known
            bits.
    """
    if len(outputs) <= WORDS:
        raise StateNotFound(f"more than {WORDS} outputs are needed, not {len(outputs)}; pass more answers")
    values, is_known = _bits(outputs), _bits(known).astype(bool)
    used = np.zeros((WORDS, 1), dtype=bool)
    used[: GLANCED + 1] = used[MIDDLE : MIDDLE + GLANCED] = True
    few = slice(WORDS + GLANCED)
    _solved(*_equations(values[few], np.concatenate([is_known[:WORDS] | ~used, is_known[few][WORDS:]])))
    equations, unknowns = _equations(values, is_known)
    solution, free = _solved(equations, unknowns)
    # All but one bit of the first word of the state affect its own output and nothing else.
    if any(column < unknowns - np.count_nonzero(~is_known[0]) for column in free):
        raise StateNotFound(f"the known bits of {len(outputs)} outputs do not determine the state; pass more answers")
    values[:WORDS][~is_known[:WORDS]] = solution
    state = _untempered(values[:WORDS, :, np.newaxis])[..., 0]
    words = (state << np.arange(BITS, dtype=np.uint64)).sum(axis=1, dtype=np.uint64).astype(np.uint32)
    recovered = np.random.RandomState()
    recovered.set_state(("MT19937", words, WORDS, 0, 0.0))
    return recovered


def _bits(words: NDArray[np.uint32]) -> NDArray[np.uint64]:
    return (words[:, np.newaxis].astype(np.uint64) >> np.arange(BITS, dtype=np.uint64)) & np.uint64(1)


def _equations(values: NDArray[np.uint64], known: NDArray[np.bool_]) -> tuple[Forms, int]:
    """Return a form that is 0 for each known bit after the first 624 outputs, and the number of unknowns in these."""
    forms, unknowns = _first_outputs(values[:WORDS], known[:WORDS])
    later = _tempered(_continued(_untempered(forms), len(values))[WORDS:])
    later[..., -1] ^= values[WORDS:] << np.uint64(63)
    return later[known[WORDS:]], unknowns


def _first_outputs(values: NDArray[np.uint64], known: NDArray[np.bool_]) -> tuple[Forms, int]:
    """Return the first outputs as forms (a known bit is a constant, another an unknown), and the number of unknowns."""
    unknowns = int(np.count_nonzero(~known))
    forms = np.zeros((WORDS, BITS, unknowns // 64 + 1), dtype=np.uint64)
    number = _numbers(unknowns)
    word, bit = np.nonzero(~known)
    forms[word, bit, number // 64] = np.uint64(1) << (number % 64).astype(np.uint64)
    # The last word of a row has room for 63 unknowns; its top bit is the constant.
    forms[..., -1] |= np.where(known, values, np.uint64(0)) << np.uint64(63)
    return forms, unknowns


def _shifted(forms: Forms, left: int, mask: int) -> Forms:
    shifted = np.zeros_like(forms)
    if left > 0:
        shifted[..., left:, :] = forms[..., :-left, :]
    else:
        shifted[..., :left, :] = forms[..., -left:, :]
    shifted[..., [bit for bit in range(BITS) if not mask >> bit & 1], :] = 0
    return shifted


def _tempered(forms: Forms) -> Forms:
    for left, mask in _TEMPERING:
        forms = forms ^ _shifted(forms, left, mask)
    return forms


def _untempered(forms: Forms) -> Forms:
    """Return forms before tempering. Each step is undone in rounds: with a shift by s, each gets s more bits right."""
    for left, mask in reversed(_TEMPERING):
        undone = forms
        for _ in range(BITS // abs(left)):
            undone = forms ^ _shifted(undone, left, mask)
        forms = undone
    return forms


def _continued(state: Forms, length: int) -> Forms:
    """Return the state's words, extended by the recurrence to `length` words."""
    words = np.concatenate([state, np.zeros((length - WORDS, *state.shape[1:]), dtype=np.uint64)])
    # Word k + 624 needs words k, k + 1 and k + 397, so 624 − 397 words can be made at a time.
    block = WORDS - MIDDLE
    twist = [bit for bit in range(BITS) if TWIST >> bit & 1]
    for start in range(0, length - WORDS, block):
        stop = min(start + block, length - WORDS)
        first, second = words[start:stop], words[start + 1 : stop + 1]
        fresh = words[start + MIDDLE : stop + MIDDLE].copy()
        fresh[:, 30] ^= first[:, 31]
        fresh[:, :30] ^= second[:, 1:31]
        fresh[:, twist] ^= second[:, :1]
        words[start + WORDS : stop + WORDS] = fresh
    return words


def _solved(equations: Forms, unknowns: int) -> tuple[NDArray[np.uint64], list[int]]:
    """Solve forms = 0: return a bit for each unknown, and the unknowns that stay free. Overwrites the equations."""
    pivots: list[tuple[int, NDArray[np.uint64]]] = []
    free: list[int] = []
    for column in range(unknowns):
        word = column // 64
        if column % _TIDIED == 0:
            equations = _open(equations, word)
        if column % 64 == 0:
            column_words = equations[:, word].copy()  # side by side in memory, where 64 columns are looked up
        holding = np.flatnonzero((column_words & (np.uint64(1) << np.uint64(column % 64))) != 0)
        if not holding.size:
            free.append(column)
            continue
        pivot = equations[holding[0]].copy()
        equations[holding[1:], word:] ^= pivot[word:]
        column_words[holding[1:]] ^= pivot[word]
        equations[holding[0]], column_words[holding[0]] = equations[-1], column_words[-1]
        equations, column_words = equations[:-1], column_words[:-1]
        pivots.append((column, pivot))
    _open(equations, unknowns // 64)
    # The constant's place holds a 1, as if it were an unknown.
    solution = np.zeros(equations.shape[1], dtype=np.uint64)
    solution[-1] = _CONSTANT
    for column, row in reversed(pivots):
        if np.bitwise_count(row & solution).sum() % 2:
            solution[column // 64] |= np.uint64(1) << np.uint64(column % 64)
    number = _numbers(unknowns)
    bits: NDArray[np.uint64] = (solution[number // 64] >> (number % 64).astype(np.uint64)) & np.uint64(1)
    return bits, free


def _open(equations: Forms, word: int) -> Forms:
    """Return the equations with unknowns from word `word` on. Raise `StateNotFound` if another equation is false."""
    coefficients = equations[:, word:].copy()
    coefficients[:, -1] &= ~_CONSTANT
    still_open = coefficients.any(axis=1)
    if equations[~still_open, -1].any():
        raise StateNotFound("no state of the generator gives these outputs")
    return equations[still_open]


def _numbers(unknowns: int) -> NDArray[np.intp]:
    """Return the unknowns' columns n − 1, …, 1, 0, so that the first output's unknowns are solved for last."""
    return np.arange(unknowns)[::-1]
