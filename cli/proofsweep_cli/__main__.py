"""`python -m proofsweep_cli`: the command line without its script."""

from proofsweep_cli.app import main

if __name__ == "__main__":
    main()
