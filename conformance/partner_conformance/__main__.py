"""`python -m partner_conformance`: the command without an installed script."""

from partner_conformance.command import main

if __name__ == "__main__":
    main()
