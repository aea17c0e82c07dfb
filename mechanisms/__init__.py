"""Mechanisms, naive and exact, one folder for each family; `core` has the constructors that exact ones are made of.

The sources stand in the README of each family.

A parameter name means the same everywhere; a docstring mentions a parameter only to say what is different:

- `epsilon`, `delta`, `sigma`, `ratio`, `rate`, `flip`: ε, δ, σ, …; public numbers above 0, used as exact rationals;
- `sensitivity`: the most by which neighbours' answers, or any of their utilities, differ, above 0;
- `grid`: the public grid that answers or records are rounded to, and that outputs lie on;
- `lower` and `upper`, `first` and `last`: public ends of a range, points of the grid where there is one; numbers beyond
  count as the nearer end, a NaN as `lower`; `utility_range`: the same for utilities;
- `bound`, `threshold`, `chunks`, `size`, `people`, `positives`: public numbers, chosen without looking at the data;
- `query` and `mechanism`: what a constructor wraps; `law`: law of the noise, in steps; `relation`: which records are
  neighbours; `monotone`: whether a record moves all utilities in the same direction;
- `records`, `answers`, `utilities`: private numbers, shape (n,); `trials`: how many independent outputs;
- `bits` and `rng`: the source of randomness.
"""
