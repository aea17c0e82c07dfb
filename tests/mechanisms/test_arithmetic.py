"""In a process that rounds otherwise or flushes to zero, no mechanism releases what it would not release elsewhere.

The mode is really switched, in processes of their own: by libm's fesetround, and by a few lines of C for the others.
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
from tests.mechanisms.releases import RUNS, found
INPUTS = {"answer": [2.5, 2], "truth": [True], "utilities": [[0.0, 1.1, 2.3]], "records": [[0.3, 1.1, 3.7]]}
INPUTS["answers"] = INPUTS["records"]
def outcomes():
    results = {}
    for name, taken in found().items():
        for given in INPUTS[taken]:
            try:
                results[name, given if taken == "answer" else 0] = RUNS[name](given, SeededBits(5))
            except (ArithmeticError, TypeError) as refusal:
                results[name, given if taken == "answer" else 0] = refusal
    return results
expected = outcomes()
switch()
found_ones = outcomes()
restore()
refused = 0
for case, result in found_ones.items():
    if isinstance(expected[case], TypeError):
        continue
    assert not isinstance(expected[case], ArithmeticError), (case, expected[case])
    if isinstance(result, ArithmeticError):
        assert MESSAGE in str(result), result
        refused += 1
    else:
        assert result == expected[case], (case, result, expected[case])
assert outcomes().keys() == expected.keys()
print("refused", refused)
"""

CONSTANTS = """
switch()
from mechanisms.exponential import exact_fast
from mechanisms.gaussian import law
from mechanisms.laplace import floor_filter
restore()
print(repr((floor_filter._CELLS.middles().tolist(), exact_fast._COEFFICIENTS)))
"""


def run(program: str) -> str:
    finished = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def rounding_switch(mode: int) -> str:
    return f"""
import ctypes
def switch(): assert ctypes.CDLL(None).fesetround({mode}) == 0
def restore(): assert ctypes.CDLL(None).fesetround(0) == 0
MESSAGE = "does not round to nearest"
"""


def rounding_modes() -> dict[str, int]:
    if not hasattr(ctypes.CDLL(None), "fesetround"):
        return {}
    return ROUNDING.get(platform.machine(), {})


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["upward", "downward", "toward zero"])
def test_no_mechanism_releases_in_another_rounding_mode_what_it_would_not_elsewhere(mode: str) -> None:
    if mode not in rounding_modes():
        pytest.skip("the numbers of this machine's rounding modes, or its fesetround, are not known")
    assert int(run(rounding_switch(rounding_modes()[mode]) + RELEASES).split()[-1]) >= 30


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["upward", "downward", "toward zero"])
def test_constants_do_not_depend_on_the_mode_in_which_modules_are_imported(mode: str) -> None:
    if mode not in rounding_modes():
        pytest.skip("the numbers of this machine's rounding modes, or its fesetround, are not known")
    assert run(rounding_switch(rounding_modes()[mode]) + CONSTANTS) == run(rounding_switch(0) + CONSTANTS)


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", FLUSHING)
def test_no_mechanism_releases_where_subnormal_numbers_are_flushed(mode: str, tmp_path: Path) -> None:
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
MESSAGE = "flushes subnormal numbers"
"""
    assert int(run(switch + RELEASES).split()[-1]) >= 30
