"""The lab for `attacklab run`, `demo` and `challenge` without a checkout: this folder holds what a checkout has."""
