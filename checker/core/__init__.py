"""What every certificate needs: reading it, rational enclosures, and runs of a sampler on all replies."""
