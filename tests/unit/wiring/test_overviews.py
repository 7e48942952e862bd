"""Which stores an overview looks at, by the settings of the accounts."""

from datetime import UTC, datetime
from pathlib import Path

from proofsweep.settings import load_accounts
from proofsweep.store.folder_store import FolderStore
from proofsweep.store.plans_and_parts import Results
from proofsweep.wiring.overviews import names_of_stores, overview_for

from ..ended_runs import answered, end_leg, plan_of_run


def test_each_account_is_shown_from_its_own_store(tmp_path: Path) -> None:
    """Under its name, whatever the label of its rows is; what else lies in a store is not shown."""
    for number, (store, label) in enumerate([("shared", "acme"), ("shared", "stranger"), ("own", "production")]):
        plan = plan_of_run(f"20261120T10000{number}Z_000aaaaaa", environment=label, catalog=f"/{label}")
        end_leg(Results(FolderStore(tmp_path / store)), plan, [answered(plan, 0, "a.wav")])
    config = tmp_path / "partners.toml"
    config.write_text(
        f'[results]\nurl = "{tmp_path / "shared"}"\n'
        '[account.acme]\nbase_url = "https://acme.example/v1"\n'
        '[account.borealis]\nbase_url = "https://borealis.example/v1"\nenvironment = "production"\n'
        f'[account.borealis.results]\nurl = "{tmp_path / "own"}"\n'
    )
    accounts = load_accounts(str(config))

    found = overview_for(accounts, datetime.now(UTC), lambda: None)

    assert [(line.account, line.catalog) for line in found.catalogs] == [("acme", "/acme"), ("borealis", "/production")]
    assert names_of_stores(accounts) == f"{tmp_path / 'shared'}, {tmp_path / 'own'}"
