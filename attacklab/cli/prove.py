"""`attacklab prove`: a claim on neighbouring pairs decided by exact output laws, or on all pairs by a certificate."""

import json as json_
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from attacklab.cli.files import Files, only_findings_on_output
from attacklab.cli.messages import BUDGET, INPUTS, Json, Verbose, option
from attacklab.cli.output import error_console, status_of
from attacklab.cli.target_options import TargetOptions, takes_target
from attacklab.laws.proof import SECONDS, find_checker, prove, prove_all, prove_every_pair
from attacklab.libraries import library_of
from attacklab.model.domains.finite import all_databases, all_utilities
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder
from attacklab.model.stage import Stage
from attacklab.model.targets import Kind, Target
from attacklab.reporting.progress import status_line

PROOFS = Path("reports", "proofs")
"""Where certificates are written."""

AMONG = (
    "Prove every pair of neighbours among these inputs: numbers separated by commas, a JSON list, LOW..HIGH, or "
    "'up to 3 of 0..8' [default: the pairs that TARGET declares, or one made for its kind]"
)
EVERY_PAIR = "Prove every pair: write a certificate to reports/proofs, and run checker/check.py of a folder above on it"

UP_TO = re.compile(r"up to (?P<most>\d+) of (?P<values>.+)")
RANGE = re.compile(r"(?P<low>-?\d+)\.\.(?P<high>-?\d+)")


@takes_target("pairs", "program", "in_env")
def command(
    asked: TargetOptions,
    *,
    inputs: Annotated[str | None, option(INPUTS, AMONG, metavar="INPUTS")] = None,
    all_: Annotated[bool, option(INPUTS, EVERY_PAIR, "--all")] = False,
    seconds: Annotated[float, option(BUDGET, "Most seconds that all proofs together take", min=0.001)] = SECONDS,
    json: Json = None,
    verbose: Verbose = None,
) -> None:
    """Decide a claim by exact laws or by a certificate."""
    if all_ and inputs is not None:
        raise UsageError("--all and --inputs exclude each other; leave one out")
    files = Files(json=json)
    if library_of(asked.target or ""):
        raise UsageError(
            f"{asked.target} draws its random numbers in another process, where a proof cannot replace them; audit it, "
            "or prove a sampler(input, bits) instead (docs/how_to/proving.md)"
        )
    place = asked.place
    with only_findings_on_output():
        loaded = asked.load()
        if isinstance(loaded, Stage):
            raise UsageError(f"{loaded.name} is a stage, which draws nothing, so it has no law; use attacklab audit")
        spec = asked.spec({"--inputs": inputs, "--all": all_})
        with status_line(error_console()) as progress:
            settings: dict[str, Any] = {"seconds": seconds, "progress": progress, "spec": spec}
            if all_:
                require_writable_folder(folder := files.folder / PROOFS)
                findings = [prove_every_pair(loaded, checker=find_checker(files.folder), folder=folder, **settings)]
            elif inputs is not None:
                findings = [prove(loaded, inputs=given_inputs(loaded, inputs), **settings)]
            else:
                findings = prove_all(loaded, **settings)
    files.write([(place, findings)], verbose)
    raise typer.Exit(status_of(findings))


def given_inputs(target: Target, text: str) -> list[Any]:
    """Read the inputs of a finite domain: a JSON list, numbers with commas, LOW..HIGH, or "up to N of" one of these.

    "up to N of" means all vectors of 1 to N utilities for a selection, and all databases of 0 to N records otherwise.
    """
    match = UP_TO.fullmatch(text.strip())
    listed = match["values"] if match else text.strip()
    if ends := RANGE.fullmatch(listed):
        values = list(range(int(ends["low"]), int(ends["high"]) + 1))
    else:
        try:
            values = list(json_.loads(listed if listed.startswith("[") else f"[{listed}]"))
        except (ValueError, RecursionError):
            raise UsageError(f"--inputs must be a JSON list, or numbers separated by commas, not {text!r}") from None
    if match is None:
        return values
    if target.kind is Kind.NOISE:
        raise UsageError(f"the input of a noise target is one number; write --inputs {listed}")
    return list((all_utilities if target.kind is Kind.SELECTION else all_databases)(int(match["most"]), values))
