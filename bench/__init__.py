"""What measures the lab itself: speed and cost, detection and false-alarm rates, mutants; `make bench` runs it."""
