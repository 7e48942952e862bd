"""The checks, in modules by what they look at; each is named for its section of the contract."""
