"""Selection by noise: add noise to every utility and report the outcome that comes out largest."""
