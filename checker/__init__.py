"""The checker of terms: standard library only, and nothing of what it judges."""
