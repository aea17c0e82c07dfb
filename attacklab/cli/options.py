"""The arguments and options of the commands, each declared once.

A command names its parameters as their options are named (`spend_all` for `--spend-all`) and takes their types from
here. Each help text says what the option sets, in which unit, and what holds without it.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from typer import Argument, Option

from attacklab.auditing.judge import DEFAULT_TRIALS
from attacklab.model.neighbours import Relation as _Relation
from attacklab.model.targets import Kind as _Kind


def _in(group: str, help_: str, *names: str, **rest: Any) -> Any:
    """An option of a group in the help."""
    return Option(*names, help=help_, rich_help_panel=group, **rest)


CLAIM, INPUTS, BUDGET, WHERE, OUTPUT = "Claim", "Inputs", "Budget", "Where it runs", "Output"
"""The groups of options in the help."""

# What is attacked or proved
Target: TypeAlias = Annotated[
    str | None,
    Argument(
        metavar="[TARGET]", help="path/file.py:name, package.module:name or library:mechanism", show_default=False
    ),
]
Attacks: TypeAlias = Annotated[
    list[str] | None, _in(BUDGET, "Run only this attack; repeatable [default: all]", metavar="NAME")
]

# Which finding is shown
FindingFile: TypeAlias = Annotated[
    Path, Argument(metavar="FINDINGS.json", help="What attacklab audit --json wrote", show_default=False)
]
FindingAttack: TypeAlias = Annotated[
    str | None, Option("--attack", help="Show the strongest finding of this attack [default: of all]")
]
Script: TypeAlias = Annotated[
    Path | None, Option("--output", metavar="FILE", help="Write the script to this file [default: standard output]")
]

# What is calibrated
About: TypeAlias = Annotated[
    str, Argument(metavar="QUANTITY", help="What the formula computes; list shows the quantities there are")
]
FormulaTarget: TypeAlias = Annotated[
    str | None, Argument(metavar="TARGET", help="path/file.py:function or package.module:function")
]
ProgramSeconds: TypeAlias = Annotated[
    float, Option("--seconds", help="Timeout of a request to the program, in seconds")
]

# What is shown and judged in the lecture hall
DemoFlaws: TypeAlias = Annotated[
    list[str] | None, Argument(metavar="[FLAW]...", help="What to show [default: all, one after another]")
]
Language: TypeAlias = Annotated[str, Option("--language", help="en for English, zh for Chinese")]


class ChallengeAction(enum.StrEnum):
    """What `attacklab challenge` does."""

    LIST = "list"
    CHECK = "check"


ChallengeDo: TypeAlias = Annotated[ChallengeAction, Argument(help="list: the mechanisms; check: judge a file")]
ChallengeFile: TypeAlias = Annotated[
    Path | None, Argument(metavar="[FILE]", help="What was handed in: an attack, a repair or a verdict")
]

# What is held to vectors


class VectorsAction(enum.StrEnum):
    """What `attacklab vectors` does."""

    WRITE = "write"
    CHECK = "check"


Vectors: TypeAlias = Annotated[
    VectorsAction, Argument(help="write: the files of all types, from a checkout; check: hold a program to files")
]
VectorFiles: TypeAlias = Annotated[
    list[str] | None, Argument(metavar="[FILE]...", help="Files of vectors [default: all in vectors/]")
]
VectorsExec: TypeAlias = Annotated[
    str | None, Option("--exec", metavar="COMMAND", help="Check this program, which answers requests on its input")
]
VectorTrials: TypeAlias = Annotated[
    int, Option("--trials", min=1, help="Outputs of each input to draw for the types law and pair")
]
VectorOutput: TypeAlias = Annotated[Path, Option("--output", help="Folder that the files are written to")]

# How the target is loaded
Exec: TypeAlias = Annotated[
    str | None, _in(WHERE, "Audit this program, which answers requests on its input", "--exec", metavar="COMMAND")
]
Isolate: TypeAlias = Annotated[
    bool, _in(WHERE, "Run TARGET in a process of its own; a library's target always runs so", "--isolate")
]
InEnv: TypeAlias = Annotated[
    str | None,
    _in(WHERE, "Run TARGET in this environment, or with the Python at this path", "--in-env", metavar="NAME"),
]
Seconds: TypeAlias = Annotated[
    float | None, _in(WHERE, "Timeout of a request to the target's process, in seconds [default: 60]", metavar="S")
]

# What the target claims
Kind: TypeAlias = Annotated[
    _Kind | None, _in(CLAIM, "Kind of target, where TARGET is a release function or a sampler without a claim")
]
Epsilon: TypeAlias = Annotated[float | None, _in(CLAIM, "Claimed ε [default: what TARGET claims]")]
Delta: TypeAlias = Annotated[float | None, _in(CLAIM, "Claimed δ [default: 0]")]
Rho: TypeAlias = Annotated[float | None, _in(CLAIM, "Claimed ρ of ρ-zCDP, instead of ε and δ")]
Mu: TypeAlias = Annotated[float | None, _in(CLAIM, "Claimed μ of μ-GDP, instead of ε and δ")]
Rdp: TypeAlias = Annotated[
    list[str] | None,
    _in(CLAIM, "Claimed (α, ε)-RDP, instead of ε and δ; repeatable, once for each order", metavar="ALPHA,EPSILON"),
]
Sensitivity: TypeAlias = Annotated[
    float | None, _in(CLAIM, "Sensitivity of the answer or of the utilities [default: 1]")
]
Lower: TypeAlias = Annotated[float | None, _in(CLAIM, "Lower bound of a record; needed for sum and mean")]
Upper: TypeAlias = Annotated[float | None, _in(CLAIM, "Upper bound of a record; needed for sum and mean")]
Relation: TypeAlias = Annotated[
    _Relation | None, _in(INPUTS, "Relation that makes two datasets neighbours [default: any]")
]
Domain: TypeAlias = Annotated[
    str | None,
    _in(
        INPUTS,
        "Inputs that TARGET takes: integers, non-negative, floats, finite, special, LOW..HIGH, separated by "
        "commas, or JSON [default: all of its kind]",
        metavar="WORDS",
    ),
]
Pairs: TypeAlias = Annotated[
    Path | None,
    _in(
        INPUTS,
        "JSON file of neighbouring pairs to try too: [{first, second, relation}, ...]; or a record of findings, "
        "for the pairs of its refuted claims",
        metavar="FILE",
    ),
]

# How it is judged
Trials: TypeAlias = Annotated[
    int | None,
    _in(
        BUDGET,
        "Largest number of outputs of each input to judge an event on "
        f"[default: {DEFAULT_TRIALS}, more where those may refute the claim, fewer where outputs are slow]",
        min=1,
        metavar="N",
    ),
]
Alpha: TypeAlias = Annotated[float, _in(BUDGET, "Probability of a false alarm in the whole run")]
Seed: TypeAlias = Annotated[int, _in(BUDGET, "Seed of all randomness", min=0, metavar="N")]
SpendAll: TypeAlias = Annotated[
    bool, _in(BUDGET, "Draw all trials, even after the claim is refuted, for closer bounds", "--spend-all")
]
MaximiseEpsilon: TypeAlias = Annotated[
    bool,
    _in(
        BUDGET,
        "Look for the largest ε that can be shown, not for a refutation; draws all trials, in this process",
        "--maximise-epsilon",
    ),
]
Runs: TypeAlias = Annotated[
    int | None, _in(BUDGET, "Largest number of runs of the sampler for each law [default: 1000000]", min=1)
]
First: TypeAlias = Annotated[
    str | None,
    _in(
        INPUTS,
        "One input of the pair: JSON, or numbers separated by commas [default: every pair that TARGET declares, "
        "or else one made for its kind]",
    ),
]
ProofSeconds: TypeAlias = Annotated[
    float, _in(BUDGET, "How long the command may take, over all pairs, in seconds", "--seconds", min=0.001)
]
All: TypeAlias = Annotated[
    bool, _in(WHERE, "Prove the claim for every pair of neighbours: write a certificate, and have it checked", "--all")
]
Checker: TypeAlias = Annotated[
    Path | None,
    _in(
        WHERE,
        "The program that checks the certificate; goes with --all [default: checker/check.py here or in the "
        "nearest folder above]",
        metavar="PATH",
    ),
]
Certificates: TypeAlias = Annotated[
    Path | None,
    _in(OUTPUT, "Folder for the certificate; goes with --all [default: reports/proofs]", "--output", metavar="FOLDER"),
]
Inputs: TypeAlias = Annotated[
    str | None,
    _in(
        INPUTS,
        "Prove every pair of neighbours among these inputs: numbers separated by commas, a JSON list, or 'up to N "
        "of VALUES', such as 'up to 3 of 0..8' or 'up to 3 of 0,0.5,1'",
        metavar="INPUTS",
    ),
]
Second: TypeAlias = Annotated[str | None, _in(INPUTS, "The other input of the pair; goes with --first")]

# Where it runs
Workers: TypeAlias = Annotated[
    str | None,
    _in(
        WHERE,
        "Number of processes that draw outputs, or the address of a Dask scheduler, such as tcp://host:8786; "
        "1 draws in this process [default: 1, then one per processor after ten seconds of drawing]",
        metavar="N",
    ),
]

# What is run and written
Experiments: TypeAlias = Annotated[
    list[str] | None,
    Argument(help="Names of experiments; corpus stands for all that are about the lab itself [default: all others]"),
]
Check: TypeAlias = Annotated[
    bool, Option("--check", help="Write nothing; fail if a page is not what the records and the code say")
]
Budget: TypeAlias = Annotated[
    float, Option(min=0.0, max=1.0, help="How much to measure: 0 for a rough picture, 1 for what reports hold")
]
Browse: TypeAlias = Annotated[
    bool, Option("--browse", help="Write index.html too, all pages as one, and open it in a browser")
]
Output: TypeAlias = Annotated[Path, Option(help="Folder for pages, data and figures")]
Json: TypeAlias = Annotated[
    str | None, _in(OUTPUT, "Write the findings to this file, or to standard output for -", metavar="FILE")
]
Sarif: TypeAlias = Annotated[
    Path | None, _in(OUTPUT, "Write refuted claims to this file, as SARIF 2.1.0", metavar="FILE")
]
Verbose: TypeAlias = Annotated[
    bool | None, _in(OUTPUT, "Print all findings, or the first line only", "--verbose/--quiet", "-v/-q")
]
Html: TypeAlias = Annotated[
    Path | None, _in(OUTPUT, "Write a report for people to this file: one page of HTML", metavar="FILE")
]
