"""What several of these share. No module here is an experiment."""
