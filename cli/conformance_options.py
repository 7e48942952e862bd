"""The options of `proofsweep conformance`."""

import typer

BaseUrl = typer.Option(
    None, "--base-url", metavar="URL", help="The service; ends in /v1. Without it, the config's service and key."
)
KeyFile = typer.Option(None, "--key-file", metavar="FILE", help="The file that holds that service's key.")
Environment = typer.Option(
    None,
    "--environment",
    metavar="LABEL",
    help="beta or sandbox permits checks that spend, rotate or erase; a config names its own.",
)
Only = typer.Option([], "--only", metavar="NAME", help="Run only this check; may be repeated.")
Include = typer.Option([], "--include", metavar="NAME", help="Run this check too; may be repeated.")
OneFile = typer.Option(None, "--one-file", metavar="WAV", help="A one-file credential known to be accepted.")
Pair = typer.Option(None, "--pair", metavar="AUDIO SIDECAR", help="A legacy pair known to be accepted.")
SidecarField = typer.Option(None, "--sidecar-field", metavar="NAME", help="The sidecar's wire name.")
LocalSeal = typer.Option(
    None, "--local-seal", metavar="WAV", help="A WAV with an artist-device seal that was never registered."
)
Unregistered = typer.Option(
    None, "--unregistered", metavar="WAV", help="A WAV with a credential that is not registered."
)
Proof = typer.Option(None, "--proof", metavar="ID", help="A proof held under the key; by default the newest listed.")
OtherKeyFile = typer.Option(
    None, "--other-key-file", metavar="FILE", help="A key of another tenant of the same service."
)
OtherEnvironmentKeyFile = typer.Option(
    None, "--other-environment-key-file", metavar="FILE", help="A key of another environment, which must be refused."
)
NewKeyFile = typer.Option(
    None, "--new-key-file", metavar="FILE", help="Where the new key of a rotation is written; must not exist."
)
EraseProof = typer.Option(
    None, "--erase-proof", metavar="ID", help="A proof held under the key that may be erased for good."
)
SlotSeconds = typer.Option(
    None, "--slot-seconds", metavar="N", min=0, help="Lifetime of a slot; the check waits for its end."
)
ListChecks = typer.Option(False, "--list", help="List the checks and what each needs; make no call.")
