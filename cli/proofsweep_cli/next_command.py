"""Write a command that a person may give next, for the same store and settings."""

from shlex import quote

from proofsweep.settings import config_and_account


def next_command(*words: str, config: str | None, results: str | None) -> str:
    """Write a command of this program with the options `--results`, `--config` and `--account` as they were given."""
    name, account = config_and_account(config)
    options = {"--results": results, "--config": name, "--account": account}
    given = [f"{option} {quote(value)}" for option, value in options.items() if value is not None]
    return " ".join(["proofsweep", *map(quote, words), *given])
