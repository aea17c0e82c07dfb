"""In a process that rounds otherwise or flushes to zero, a term releases what it would release elsewhere.

Public maps of what was released may round as they like, and are left out. Where denormals are zero, a number
below 2^−1022 is taken for 0, and so there is none here. The mode is really switched, in processes of
their own: by libm's fesetround, and by a few lines of C for the others.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROUNDING = {
    "x86_64": {"downward": 0x400, "upward": 0x800, "toward zero": 0xC00},
    "aarch64": {"upward": 0x400000, "downward": 0x800000, "toward zero": 0xC00000},
}
"""The arguments of fesetround, which C leaves to the machine."""

CONTROL = """
#include <xmmintrin.h>
void switch_mode(unsigned bits) { _mm_setcsr(_mm_getcsr() | bits); }
"""
FLUSHING = {"flush to zero": 0x8000, "denormals are zero": 0x0040}

RELEASES = """
from attacklab.random_bits import SeededBits
from mechanisms.core.compose import Mapped
from tests.mechanisms.terms import TERMS, data_of
INPUTS = {"number": [2.5, 2, -1e-307], "bit": [True], "keys": [["ash"] * 9]}
INPUTS["numbers"] = [[0.0, 1.1, 2.3, 0.7], [1, 0, 1, 0], [0.1, 1e-307, -3e-307, 2e300]]
def outputs():
    drawn = []
    for name, term in TERMS.items():
        for place, data in enumerate(INPUTS[data_of(name)]):
            while isinstance(term, Mapped):
                term = term.mechanism
            bits = SeededBits(5)
            drawn.append((name, place, repr([term.release(data, bits), term.many(data, 3, bits)])))
    return drawn
switch()
others = outputs()
restore()
for other, expected in zip(others, outputs(), strict=True):
    assert other == expected, (other, expected)
print(len(others))
"""


def run(program: str) -> int:
    finished = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    assert finished.returncode == 0, finished.stderr
    return int(finished.stdout)


def rounding_modes() -> dict[str, int]:
    if not hasattr(ctypes.CDLL(None), "fesetround"):
        return {}
    return ROUNDING.get(platform.machine(), {})


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["upward", "downward", "toward zero"])
def test_terms_release_the_same_in_another_rounding_mode(mode: str) -> None:
    if mode not in rounding_modes():
        pytest.skip("the numbers of this machine's rounding modes, or its fesetround, are not known")
    switch = f"""
import ctypes
def switch(): assert ctypes.CDLL(None).fesetround({rounding_modes()[mode]}) == 0
def restore(): assert ctypes.CDLL(None).fesetround(0) == 0
"""
    assert run(switch + RELEASES) >= 80


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", FLUSHING)
def test_terms_release_the_same_where_subnormal_numbers_are_flushed(mode: str, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or platform.machine() != "x86_64":
        pytest.skip("switching the mode takes a C compiler and an x86-64 processor")
    source, library = tmp_path / "control.c", tmp_path / "control.so"
    source.write_text(CONTROL)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)  # noqa: S603
    switch = f"""
import ctypes
control = ctypes.CDLL({str(library)!r})
def switch(): control.switch_mode({FLUSHING[mode]})
def restore(): assert ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1)) == 0  # the default environment
"""
    assert run(switch + RELEASES) >= 80
