"""What the package exports is there, is what its home module holds, and is imported only when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import attacklab
from attacklab import attacks
from attacklab.auditing import referee
from attacklab.laws import proof
from attacklab.model import claims, domains, findings, neighbours, random_bits, releases, seeing_work, targets

HOMES = (attacks, claims, domains, findings, neighbours, proof, random_bits, referee, releases, seeing_work, targets)


def test_each_export_is_the_object_of_one_home_module() -> None:
    for name in attacklab.__all__:
        exported = getattr(attacklab, name)
        assert any(vars(home).get(name) is exported for home in HOMES), name
        assert name in dir(attacklab)


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'attacklab' has no attribute 'Tarket'"):
        attacklab.Tarket  # noqa: B018 - looking it up is the test


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, attacklab; sys.exit(str([name for name in ('numpy', 'scipy', 'gmpy2') if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.stderr.strip() == "[]"
