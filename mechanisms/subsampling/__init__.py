"""Amplification by sampling and by shuffling: hiding who took part strengthens what a mechanism promises."""
