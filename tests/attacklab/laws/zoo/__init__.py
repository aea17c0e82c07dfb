"""A zoo of samplers with false and true claims, by which the prover is judged."""
