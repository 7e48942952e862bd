"""Options that several commands share, said once."""

import typer

Config = typer.Option(
    None,
    "--config",
    "-c",
    metavar="FILE",
    help="Config file, or the name of a profile: sandbox, beta, production. [env: PROOFSWEEP_CONFIG]",
)
ResultsUrl = typer.Option(
    None, "--results", "-r", metavar="URL", help="Results store, a folder; default from the config (`results`)."
)
AsJson = typer.Option(False, "--json", help="Print one JSON object on stdout instead of text.")
