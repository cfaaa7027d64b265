"""Runs the command line for ``python -m nbtools``."""

from nbtools.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
