"""`python -m cli`: the command line without its script."""

from cli.app import main

if __name__ == "__main__":
    main()
