"""What several experiments share: data, sweeps, series for figures, computations. No module here is an experiment."""
