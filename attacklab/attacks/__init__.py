"""The attacks, one file a flaw."""
