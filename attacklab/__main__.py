"""`python -m attacklab`: the command line, where the installed script is not on the path."""

from attacklab.cli import main

if __name__ == "__main__":
    main()
