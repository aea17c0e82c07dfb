"""Alignments: what the code around the noise loses, by shifts of the noise that hide a change of the input.

The draws z of a run on D are frozen. Shifts s are solved for with f(D′, z + s) = f(D, z) (`solve`), at outcomes near
and far (`outcomes`), until the same shifts serve all of one form of the output (`align`). Their cost against the claim
(`costs`) says that a pair keeps it. That a pair breaks it is said where the outputs tell every draw apart, or put to
fresh samples where a part of them has no noise (`apart`). `examine` is all of that for one pair, `pairs` and `search`
give pairs, and `blame` the line.

Source: Zhang and Kifer 2017, 'LightDP'; Wang and others 2020, 'CheckDP'; here it is done on runs, not on programs.
"""
