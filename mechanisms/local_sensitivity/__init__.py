"""Local sensitivity: noise that adapts to the data, as a textbook's code has it and repaired."""
