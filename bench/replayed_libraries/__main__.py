"""`python -m bench.replayed_libraries`."""

from bench.replayed_libraries import main

main()
