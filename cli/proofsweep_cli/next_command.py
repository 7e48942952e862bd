"""Write a command that a person may give next, for the same store and settings."""

from shlex import quote


def next_command(*words: str, config: str | None, results: str | None) -> str:
    """Write a command of this program with the options `--results` and `--config` as they were given."""
    options = {"--results": results, "--config": config}
    given = [f"{option} {quote(value)}" for option, value in options.items() if value is not None]
    return " ".join(["proofsweep", *map(quote, words), *given])
