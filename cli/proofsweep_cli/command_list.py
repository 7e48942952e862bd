"""The list of commands that `proofsweep --help` shows: importing the commands themselves takes a second."""

LINES = {
    "demo": "Start a local partner service, verify a sample catalog against it, and query the results.",
    "doctor": "Check config, key, service, quota, results store and pairing, and say what to do about each failure.",
    "plan": "Show what a run would take: counts, reasons, bytes, calls, quota and time.",
    "verify": "Verify every audio file of a catalog, and write verdicts, exchanges and runs as Parquet.",
    "resume": "Resume a run that did not end. A finished run does not change: its summary and exit code are given.",
    "ingest": "Verify new and changed files of a folder once they are settled, and move them by their verdicts.",
    "explain": "Show every call that was made for one file over all runs, its verdicts, and what to do.",
    "report": "Write the catalog as it stands, or a run, as an HTML file that needs no network.",
    "check": "Verify one file, or one pair, now. Nothing is stored; two keyed calls are spent.",
    "status": "Show how all catalogs stand, the active runs, and what is left of the quota; or one run, or all runs.",
    "stop": "Stop a run in good order from any machine, as Ctrl-C does where it runs: through the results store.",
    "rejects": "List the files that need attention: rejected, failed or ineligible, why, and what to do.",
    "export": "Write a completion report: each file with its outcome, why, what to do, and the request IDs.",
    "query": "Ask the results store in SQL, with DuckDB.",
    "diff": "Show what changed: files that broke, that are fixed, new, gone or otherwise changed, each with the cause.",
    "prune": "Delete what old runs hold besides newest answers: verdicts, exchanges, planned items.",
    "audit": "Check the tables against the receipts, rows against planned items, and request IDs against exchanges.",
    "alerts": "Tell somebody of what needs a person.",
    "keys": "List and rotate the partner's API keys.",
    "proofs": "List, inspect and recover the proofs that the service holds.",
    "service": "Ask how the service is, what the key has spent, and watch both.",
    "sandbox": "Serve a local partner service in the foreground, until Ctrl-C.",
}
"""What each command does: the first paragraph of its own help. A test compares them."""
