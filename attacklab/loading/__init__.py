"""What a command line, a marker or a file of pairs says, read: targets by their names, domains and pairs (`inputs`)."""
