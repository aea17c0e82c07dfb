"""The arguments and options of the commands, each declared once.

A command names its parameters as their options are named (`spend_all` for `--spend-all`) and takes their types from
here. Each help text says what the option sets, in which unit, and what holds without it.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, TypeAlias

from typer import Argument, Option

from attacklab.auditing.judge import DEFAULT_TRIALS
from attacklab.model.neighbours import Relation as _Relation
from attacklab.model.targets import Kind as _Kind

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
    list[str] | None,
    Option(metavar="NAME", rich_help_panel=BUDGET, help="Run only this attack; repeatable [default: all]"),
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
    str | None,
    Option(
        "--exec",
        metavar="COMMAND",
        rich_help_panel=WHERE,
        help="Audit this program, which answers requests on its input",
    ),
]
Isolate: TypeAlias = Annotated[
    bool,
    Option(
        "--isolate", rich_help_panel=WHERE, help="Run TARGET in a process of its own; a library's target always runs so"
    ),
]
InEnv: TypeAlias = Annotated[
    str | None,
    Option(
        "--in-env",
        metavar="NAME",
        rich_help_panel=WHERE,
        help="Run TARGET in this environment, or with the Python at this path",
    ),
]
Seconds: TypeAlias = Annotated[
    float | None,
    Option(
        metavar="S",
        rich_help_panel=WHERE,
        help="Timeout of a request to the target's process, in seconds [default: 60]",
    ),
]

# What the target claims
Kind: TypeAlias = Annotated[
    _Kind | None,
    Option(
        rich_help_panel=CLAIM, help="Kind of target, where TARGET is a release function or a sampler without a claim"
    ),
]
Epsilon: TypeAlias = Annotated[
    float | None, Option(rich_help_panel=CLAIM, help="Claimed ε [default: what TARGET claims]")
]
Delta: TypeAlias = Annotated[float | None, Option(rich_help_panel=CLAIM, help="Claimed δ [default: 0]")]
Rho: TypeAlias = Annotated[float | None, Option(rich_help_panel=CLAIM, help="Claimed ρ of ρ-zCDP, instead of ε and δ")]
Mu: TypeAlias = Annotated[float | None, Option(rich_help_panel=CLAIM, help="Claimed μ of μ-GDP, instead of ε and δ")]
Rdp: TypeAlias = Annotated[
    list[str] | None,
    Option(
        metavar="ALPHA,EPSILON",
        rich_help_panel=CLAIM,
        help="Claimed (α, ε)-RDP, instead of ε and δ; repeatable, once for each order",
    ),
]


Sensitivity: TypeAlias = Annotated[
    float | None, Option(rich_help_panel=CLAIM, help="Sensitivity of the answer or of the utilities [default: 1]")
]
Lower: TypeAlias = Annotated[
    float | None, Option(rich_help_panel=CLAIM, help="Lower bound of a record; needed for sum and mean")
]
Upper: TypeAlias = Annotated[
    float | None, Option(rich_help_panel=CLAIM, help="Upper bound of a record; needed for sum and mean")
]
Relation: TypeAlias = Annotated[
    _Relation | None, Option(rich_help_panel=INPUTS, help="Relation that makes two datasets neighbours [default: any]")
]

Domain: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="WORDS",
        rich_help_panel=INPUTS,
        help="Inputs that TARGET takes: integers, non-negative, floats, finite, special, LOW..HIGH, "
        "separated by commas, or JSON [default: all of its kind]",
    ),
]
Pairs: TypeAlias = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        rich_help_panel=INPUTS,
        help="JSON file of neighbouring pairs to try too: [{first, second, relation}, ...]; "
        "or a record of findings, for the pairs of its refuted claims",
    ),
]

# How it is judged
Trials: TypeAlias = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        rich_help_panel=BUDGET,
        help="Largest number of outputs of each input to judge an event on "
        f"[default: {DEFAULT_TRIALS}, more where those may refute the claim, fewer where outputs are slow]",
    ),
]
Alpha: TypeAlias = Annotated[
    float, Option(rich_help_panel=BUDGET, help="Probability of a false alarm in the whole run")
]
Seed: TypeAlias = Annotated[int, Option(min=0, metavar="N", rich_help_panel=BUDGET, help="Seed of all randomness")]
SpendAll: TypeAlias = Annotated[
    bool,
    Option(
        "--spend-all",
        rich_help_panel=BUDGET,
        help="Draw all trials, even after the claim is refuted, for closer bounds",
    ),
]
IdealNoise: TypeAlias = Annotated[
    bool,
    Option(
        "--ideal-noise",
        rich_help_panel=BUDGET,
        help="Take the samplers at their word, and ask for the code around them: alignment alone",
    ),
]
MaximiseEpsilon: TypeAlias = Annotated[
    bool,
    Option(
        "--maximise-epsilon",
        rich_help_panel=BUDGET,
        help="Look for the largest ε that can be shown, not for a refutation; draws all trials, in this process",
    ),
]
Runs: TypeAlias = Annotated[
    int | None,
    Option(min=1, rich_help_panel=BUDGET, help="Largest number of runs of the sampler for each law [default: 1000000]"),
]
First: TypeAlias = Annotated[
    str | None,
    Option(
        rich_help_panel=INPUTS,
        help="One input of the pair: JSON, or numbers separated by commas "
        "[default: every pair that TARGET declares, or else one made for its kind]",
    ),
]
ProofSeconds: TypeAlias = Annotated[
    float,
    Option(
        "--seconds", min=0.001, rich_help_panel=BUDGET, help="How long the command may take, over all pairs, in seconds"
    ),
]
All: TypeAlias = Annotated[
    bool,
    Option(
        "--all",
        rich_help_panel=WHERE,
        help="Prove the claim for every pair of neighbours: write a certificate, and have it checked",
    ),
]
Checker: TypeAlias = Annotated[
    Path | None,
    Option(
        metavar="PATH",
        rich_help_panel=WHERE,
        help="The program that checks the certificate; goes with --all "
        "[default: checker/check.py here or in the nearest folder above]",
    ),
]
Certificates: TypeAlias = Annotated[
    Path | None,
    Option(
        "--output",
        metavar="FOLDER",
        rich_help_panel=OUTPUT,
        help="Folder for the certificate; goes with --all [default: reports/proofs]",
    ),
]
Inputs: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="INPUTS",
        rich_help_panel=INPUTS,
        help="Prove every pair of neighbours among these inputs: numbers separated by commas, a JSON list, "
        "or 'up to N of VALUES', such as 'up to 3 of 0..8' or 'up to 3 of 0,0.5,1'",
    ),
]
Second: TypeAlias = Annotated[
    str | None, Option(rich_help_panel=INPUTS, help="The other input of the pair; goes with --first")
]

# Where it runs
Workers: TypeAlias = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        rich_help_panel=WHERE,
        help="Number of processes that draw outputs; 1 draws in this process "
        "[default: 1, then one per processor after ten seconds of drawing]",
    ),
]
Scheduler: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="ADDRESS",
        rich_help_panel=WHERE,
        help="Draw outputs in the workers of this Dask scheduler, such as tcp://host:8786",
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
    str | None,
    Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write the findings to this file, or to standard output for -"),
]
Sarif: TypeAlias = Annotated[
    Path | None,
    Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write refuted claims to this file, as SARIF 2.1.0"),
]
Verbose: TypeAlias = Annotated[
    bool | None,
    Option("--verbose/--quiet", "-v/-q", rich_help_panel=OUTPUT, help="Print all findings, or the first line only"),
]
Html: TypeAlias = Annotated[
    Path | None,
    Option(metavar="FILE", rich_help_panel=OUTPUT, help="Write a report for people to this file: one page of HTML"),
]
