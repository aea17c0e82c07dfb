"""Broken copies of `mechanisms/core`, each with one mistake that people make, and which of them its tests notice.

`python -m bench.mutants` makes mutants (`operators`), chooses some by their digests, so that a seed gives the same ones
and an edit elsewhere changes few, and runs on each, in a copy of the tree, the tests that are named after its module,
then those that name it. What changes nothing is listed in `equivalent.json` under the reason, by the mutant's text.

Libraries that do this (looked at in November 2026): mutmut 3.8 leaves out properties and constants of modules, and
takes no operators of ours; cosmic-ray 8.7 edits the working tree, has one command for all modules and takes operators
from installed plugins alone, with 14 dependencies; poodle 1.3 and mutatest 3.1 are no longer kept. None knows the types
of arrays, directed rounding or relations, which are the mistakes that matter here.

Source: DeMillo, Lipton and Sayward 1978, 'Hints on Test Data Selection'.
"""
