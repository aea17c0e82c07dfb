"""Candidate neighbouring pairs for a target that nobody wrote an attack for: one module a kind of input.

`answers` for additive noise, `utilities` for selections, `records` for sums and means; `domains.shapes` for datasets.
`lines` looks for single steps in families of inputs, and `rounding` for places where something that rounds moves most.
"""

from attacklab.attacks.black_box.candidate_pairs.found import candidate_pairs

__all__ = ["candidate_pairs"]
