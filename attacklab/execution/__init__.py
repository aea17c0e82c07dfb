"""Where trials run and what they leave behind: batches, runners, worker processes, checkpoints."""
