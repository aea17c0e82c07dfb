"""Enclosures by integers alone: two rationals with the truth between them."""
