"""`python -m pellucid` is the command line."""

from .cli import main

main()
