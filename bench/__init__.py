"""What measures the lab itself: speed and cost, detection and false-alarm rates; `make bench` runs it."""
