"""Alignments: what the code around the noise loses, by shifts of the noise that hide a change of the input.

The draws z of a run on D are frozen. `solve` finds shifts s with f(D′, z + s) = f(D, z), at outcomes near and far
(`outcomes`), until the same shifts restore all outputs of one form (`align`). If the claim allows their cost (`costs`),
the pair keeps it. A pair breaks the claim if its outputs reveal every draw and lose too much; if a part of the outputs
has no noise, fresh samples decide (`apart`). `examine` does all of this for one pair, `pairs` and `search` choose
pairs, and `blame` finds the line at fault.

Source: Zhang and Kifer 2017, 'LightDP'; Wang and others 2020, 'CheckDP'; here it is done on runs, not on programs.
"""
