"""Sources of bits: no thread and no child of a process repeats another's bits, unless they are seeded.

Where distinct draws are demanded, the false-alarm probability is at most n²/2·2^−k for n draws of k fair bits.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from attacklab.model.random_bits import REJECTED, RandomBits, SeededBits, SystemBits, TapedBits, TapeEnded
from tests.running import run

pytestmark = pytest.mark.slow

FORKING = """
import os
from attacklab.model.random_bits import SeededBits, SystemBits

bits = {source}
bits.take(3), bits.words(2)  # whatever a source keeps back, it keeps from here on
def drawn():
    return f"{{bits.take(256):064x}} " + " ".join(f"{{int(word):016x}}" for word in bits.words(8))
for _ in range(3):
    if os.fork() == 0:
        print(drawn(), flush=True)
        os._exit(0)
for _ in range(3):
    os.wait()
print(drawn())
"""


def drawn_in_forks(source: str) -> list[list[str]]:
    """What three children and their parent draw: 256 bits and 8 words each."""
    whole_lines = ["PYTHONUNBUFFERED"]  # with it a line is written in parts
    finished = run([sys.executable, "-c", FORKING.format(source=source)], hidden=whole_lines)
    lines = [line.split() for line in finished.stdout.splitlines()]
    assert [len(line) for line in lines] == [9] * 4
    return lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_children_do_not_repeat_the_bits_of_their_parent_or_of_each_other() -> None:
    """4 draws of 256 bits and 32 of 64: false alarms below 2^−253 + 2^−55 < 1e-16."""
    lines = drawn_in_forks("SystemBits()")
    assert len({line[0] for line in lines}) == 4
    assert len({word for line in lines for word in line[1:]}) == 32


def test_threads_that_share_a_source_do_not_repeat_each_others_bits() -> None:
    """8 threads at once, 2,000 draws of 128 bits and 1,000 words each: false alarms below 2^−100 + 2^−38 < 1e-11."""
    bits, together = SystemBits(), Barrier(8)

    def draw(_: int) -> tuple[list[int], list[int]]:
        together.wait()
        return [bits.take(128) for _ in range(2000)], bits.words(1000).tolist()

    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(draw, range(8)))
    assert len({value for values, _ in drawn for value in values}) == 16_000
    assert len({word for _, words in drawn for word in words}) == 8_000


def test_every_bit_of_the_system_takes_both_values() -> None:
    """A bit that stays the same for 128 fair draws: 2·(64 + 200)·2^−128 < 1e-35."""
    bits = SystemBits()
    words = bits.words(128)
    assert np.bitwise_or.reduce(words) == np.uint64(2**64 - 1)
    assert np.bitwise_and.reduce(words) == 0
    seen_one = seen_zero = 0
    for _ in range(128):
        drawn = bits.take(200)
        seen_one, seen_zero = seen_one | drawn, seen_zero | ~drawn
    assert seen_one == 2**200 - 1
    assert seen_zero & (2**200 - 1) == 2**200 - 1


@pytest.mark.parametrize("source", [SystemBits(), SeededBits(4), TapedBits(5, 8)], ids=lambda bits: type(bits).__name__)
def test_no_bits_are_zero_and_a_negative_number_of_bits_is_refused(source: RandomBits) -> None:
    assert source.take(0) == 0
    with pytest.raises(ValueError, match=r"bits|count"):
        source.take(-1)


def test_a_seeded_source_gives_the_same_bits_for_the_same_seed_however_they_are_taken() -> None:
    whole, apart = SeededBits(7), SeededBits(7)
    pieces = [apart.take(count) for count in (1, 0, 5, 1018, 3000)]
    joined = 0
    for piece, count in zip(pieces, (1, 0, 5, 1018, 3000), strict=True):
        joined = joined << count | piece
    assert [whole.take(count) for count in (1, 0, 5, 1018, 3000)] == pieces
    assert joined.bit_length() > 3900
    assert SeededBits(8).take(256) != SeededBits(7).take(256)


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"])
def test_words_of_a_generator_are_its_integers_of_64_bits_whatever_it_drew_before(kind: str) -> None:
    ours, numpys = (np.random.Generator(getattr(np.random, kind)(5)) for _ in range(2))
    bits = SeededBits(ours)
    for count in (0, 1, 7, 1000):
        words = bits.words(count)
        assert words.dtype == np.uint64
        assert words.tolist() == numpys.integers(0, 2**64, size=count, dtype=np.uint64).tolist()
        assert ours.bytes(3) == numpys.bytes(3)


def test_a_tape_is_read_from_its_most_significant_bit_to_its_end() -> None:
    tape = TapedBits(0b1011, 4)
    assert [tape.take(1), tape.take(2), tape.left, tape.take(1)] == [1, 1, 1, 1]
    with pytest.raises(TapeEnded, match="1 bits asked for, 0 left"):
        tape.take(1)
    for value, length in ((4, 2), (-1, 3)):
        with pytest.raises(ValueError, match="does not fit"):
            TapedBits(value, length)


def test_a_round_is_drawn_until_it_returns_something_and_false_and_zero_are_something() -> None:
    def even(bits: RandomBits) -> int | None:
        drawn = bits.take(2)
        return drawn if drawn % 2 == 0 else REJECTED

    tape = TapedBits(0b01_11_00_10, 8)
    assert tape.repeat(even) == 0
    assert tape.call(even) == 2
    assert TapedBits(0, 1).repeat(lambda bits: bool(bits.take(1))) is False


def test_words_of_a_tape_are_its_bits_in_order() -> None:
    assert TapedBits((3 << 64) | 9, 128).words(2).tolist() == [3, 9]
