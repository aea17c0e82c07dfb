"""Quantiles by the exponential mechanism: over intervals between records, and over public candidates; see README.md."""
