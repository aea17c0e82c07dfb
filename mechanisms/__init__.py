"""Mechanisms, naive and exact, one folder a family; `core` has the constructors that exact ones are made of.

The sources stand in the README of each family.

A parameter of a name means the same everywhere, and a docstring says of it only what is different there:

- `epsilon`, `delta`, `sigma`, `ratio`, `rate`, `flip`: ε, δ, σ, …; above 0, public, and the rational that they are;
- `sensitivity`: how far neighbours' answers, or any of their utilities, are apart at most, above 0;
- `grid`: the public grid that answers or records are rounded to, and of what is released;
- `lower` and `upper`, `first` and `last`: public ends of a range, points of the grid where there is one; numbers beyond
  count as the nearer end, a NaN as `lower`; `utility_range`: the same of utilities;
- `bound`, `threshold`, `chunks`, `size`, `people`, `positives`: public numbers, chosen without looking at the data;
- `query` and `mechanism`: what a constructor is put around; `law`: of noise, in steps; `relation`: which records are
  neighbours; `monotone`: whether a record moves all utilities in the same direction;
- `records`, `answers`, `utilities`: private, one number each, shape (n,); `trials`: how many independent outputs;
- `bits` and `rng`: the source of randomness.
"""
