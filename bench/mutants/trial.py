"""Write and check the certificates of a tree: `python -m bench.mutants.trial whole|mutant FOLDER [TARGET...]`.

A process of its own, started in that tree. It prints a line of JSON before and after each target. `whole` keeps the
certificates in the folder. A mutant's are written by the mutant's own code; but whoever broke the mechanism may write
any evidence, so where such a certificate is refused, the one with the evidence of the whole mechanism is tried as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from checker.core.certificate import Refused, load, require_sources

from attacklab.certificates import certificate
from checker.check import check
from experiments.certificates import DRAFTS

TREE = Path.cwd()
STARTED, UNWRITTEN, REFUSED, ACCEPTED = "started", "unwritten", "refused", "accepted"


def outcome_of(target: str, whole: Path) -> dict[str, Any]:
    """Write the certificates of a target and check them.

    Args:
        target: the name of its draft.
        whole: the folder with the certificates of the whole mechanisms.

    Returns:
        What became of them: accepted if one of them is, and the reason of the first refusal.
    """
    started = time.perf_counter()
    found: dict[str, Any] = {"target": target, "outcome": UNWRITTEN}
    for content in _certificates(target, whole / f"{target}.json", found):
        found["theorem"] = content["theorem"]
        path = TREE / "certificate.json"
        path.write_text(json.dumps(content), "utf-8")
        try:
            read = load(path)
            require_sources(read, TREE)
            conclusion = check(read, sources=False)
        except Refused as error:
            found |= {"outcome": REFUSED, "reason": found.get("reason", _told(str(error)))}
        except Exception as error:  # what the checker did not foresee is no acceptance, and is shown
            found |= {"outcome": REFUSED, "reason": _told(f"the checker fails: {type(error).__name__}: {error}")}
        else:
            found |= {"outcome": ACCEPTED, "reason": conclusion.statement}
            break
    return found | {"seconds": round(time.perf_counter() - started, 2)}


def _told(message: str) -> str:
    """Return the beginning of a message, without addresses in memory and folders, which differ from run to run."""
    return without_folders(re.sub(r" at 0x[0-9a-f]+", "", message))[:500]


def without_folders(message: str) -> str:
    """Leave out of a message in which folders the files are that it names."""
    return re.sub(r"/[^\s'\"]*/(?=[^/\s'\"]+['\"])", "", message)


def _certificates(target: str, whole: Path, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kept = json.loads(whole.read_text("utf-8")) if whole.is_file() else None
    try:
        written: dict[str, Any] | None = certificate(target, DRAFTS[target]())
    except Exception as error:  # a mutant may fail in any way
        written = None
        found["reason"] = _told(f"{type(error).__name__}: {error}")
    if written is not None:
        yield written
    if kept is not None:
        sources = {path: hashlib.sha256((TREE / path).read_bytes()).hexdigest() for path in kept["sources"]}
        other = kept | {"sources": sources} if written is None else written | {"evidence": kept["evidence"]}
        if other != written:
            yield other


def write_whole(target: str, folder: Path) -> dict[str, Any]:
    """Write the certificate of a target whose mechanism is whole, and check it.

    Returns:
        What became of it, and which functions of the mechanisms its writer called, as module:function.
    """
    called: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("mechanisms."):
            called.add(f"{module}:{frame.f_code.co_qualname}")

    started = time.perf_counter()
    sys.setprofile(note)
    try:
        content = certificate(target, DRAFTS[target]())
    finally:
        sys.setprofile(None)
    path = folder / f"{target}.json"
    path.write_text(json.dumps(content), "utf-8")
    read = load(path)
    require_sources(read, TREE)
    try:
        reason, outcome = check(read, sources=False).statement, ACCEPTED
    except Refused as error:
        reason, outcome = _told(str(error)), REFUSED
    found = {"target": target, "theorem": content["theorem"], "outcome": outcome, "reason": reason}
    return found | {"called": sorted(called), "seconds": round(time.perf_counter() - started, 2)}


def main() -> None:
    """Print the outcomes of the targets named on the command line, all of them if none is."""
    task, folder, *targets = sys.argv[1:]
    run = {"whole": write_whole, "mutant": outcome_of}[task]
    for target in targets or sorted(DRAFTS):
        print(json.dumps({"target": target, "outcome": STARTED}), flush=True)
        print(json.dumps(run(target, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
