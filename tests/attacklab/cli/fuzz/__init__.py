"""The command line against generated target files, option values and answers over the line protocol."""
