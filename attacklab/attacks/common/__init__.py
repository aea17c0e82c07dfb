"""What several attacks share: bets on failures and on half-lines, ends and paths of datasets, depths of thresholds."""
