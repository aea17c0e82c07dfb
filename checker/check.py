"""Check certificates: `python checker/check.py reports/proofs/*.json`.

Exit status: 0 if every one is accepted, 1 if one is refused, 2 if there was nothing to check.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from checker.core.certificate import Certificate, Conclusion, Refused, load, require_sources
from checker.core.probe import require_arithmetic
from checker.lemmas import LEMMAS
from checker.theorems import THEOREMS


def check(certificate: Certificate, *, sources: bool = True) -> Conclusion:
    """Check a certificate.

    Args:
        certificate: what was read.
        sources: whether the sources must be those that it was written for.

    Returns:
        What is proved.

    Raises:
        Refused: it does not show what it states.
    """
    require_arithmetic()
    if sources:
        require_sources(certificate)
    if certificate.theorem not in THEOREMS:
        raise Refused(f"no theorem is called {certificate.theorem!r}")
    try:
        found = THEOREMS[certificate.theorem](certificate)
    except Refused:
        raise
    except Exception as error:  # whatever a mechanism or odd evidence raises, nothing is shown
        raise Refused(f"{type(error).__name__}: {error}") from error
    unknown = set(found.lemmas) - set(LEMMAS)
    if unknown:
        raise RuntimeError(f"lemmas without a statement: {sorted(unknown)}")
    return found


def main(paths: list[str]) -> int:
    """Check the certificates of some paths and print what each of them shows."""
    if not paths:
        print("usage: python checker/check.py CERTIFICATE...", file=sys.stderr)
        return 2
    refused = 0
    for path in map(Path, paths):
        try:
            found = check(load(path))
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
