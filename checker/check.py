"""Check certificates: `python checker/check.py reports/proofs/*.json`.

A certificate makes the checker run the functions that it names. They are of `mechanisms`; with `--package NAME` they
may be of that package too, which you then trust to be run.

Exit status: 0 if every one is accepted, 1 if one is refused, 2 if there was nothing to check.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from checker.core.certificate import PACKAGE, Certificate, Conclusion, Refused, load, require_sources
from checker.core.probe import require_arithmetic
from checker.kinds.state import left_as_it_was
from checker.lemmas import LEMMAS
from checker.theorems import THEOREMS


def check(certificate: Certificate, *, sources: bool = True, packages: Collection[str] = (PACKAGE,)) -> Conclusion:
    """Check a certificate.

    Args:
        certificate: what was read.
        sources: whether the sources must be those that it was written for.
        packages: whose functions may be run.

    Returns:
        What is proved.

    Raises:
        Refused: it does not show what it states.
    """
    require_arithmetic()
    if certificate.package not in packages:
        raise Refused(
            f"it would run functions of {certificate.package}; add --package {certificate.package} if you trust them"
        )
    if sources:
        require_sources(certificate)
    if certificate.theorem not in THEOREMS:
        raise Refused(f"no theorem is called {certificate.theorem!r}")
    try:
        for role in certificate.functions:
            certificate.function(role)
        with left_as_it_was(certificate.package):
            found = THEOREMS[certificate.theorem](certificate)
    except Refused:
        raise
    except Exception as error:  # whatever a mechanism or odd evidence raises, nothing is shown
        raise Refused(f"{type(error).__name__}: {error}") from error
    unknown = set(found.lemmas) - set(LEMMAS)
    if unknown:
        raise RuntimeError(f"lemmas without a statement: {sorted(unknown)}")
    return found


def main(arguments: list[str]) -> int:
    """Check the certificates of some paths and print what each of them shows."""
    parser = argparse.ArgumentParser(prog="python checker/check.py", description=__doc__)
    parser.add_argument("certificates", nargs="*", type=Path)
    parser.add_argument("--package", action="append", default=[PACKAGE], help="whose functions may be run")
    given = parser.parse_args(arguments)
    if not given.certificates:
        parser.print_usage(sys.stderr)
        return 2
    refused = 0
    for path in given.certificates:
        try:
            found = check(load(path), packages=given.package)
        except Refused as error:
            refused += 1
            print(f"REFUSED   {path.stem}: {error}")
            continue
        checked = ", ".join(f"{count:,} {what}" for what, count in found.checked.items())
        print(f"ACCEPTED  {path.stem}: {found.statement}")
        print(f"          checked {checked}; lemmas {', '.join(found.lemmas) or 'none'}")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
