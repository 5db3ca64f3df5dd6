"""`python -m dcd`, the command line."""

from dcd.cli import main

if __name__ == "__main__":
    main()
