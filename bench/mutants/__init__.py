"""Broken copies of `mechanisms/core`, each with one mistake that people make, and which of them its tests notice.

`python -m bench.mutants` copies the tree, finds which test runs which line, makes mutants (`operators`), and runs the
tests that run a mutant's line until one fails. The same seed gives the same mutants, and an edit elsewhere changes few
of them. A mutant that changes nothing a user can see is listed in `equivalent.json` under the reason, by its text.

Libraries that do this (looked at in November 2026): mutmut 3.8 leaves out decorated functions and constants of
modules, so every property here, and takes no operators of ours; cosmic-ray 8.7 edits the working tree, has one command
for all modules and takes operators from installed plugins alone, with 14 dependencies; poodle 1.3 and mutatest 3.1 are
no longer kept. None knows the types of arrays, rounding or relations, which are the mistakes that matter here.

Source: DeMillo, Lipton and Sayward 1978, 'Hints on Test Data Selection'.
"""
