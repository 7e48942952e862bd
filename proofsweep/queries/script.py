"""The views as one SQL script, for any DuckDB that can read the results store."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from proofsweep.domain.errors import ResultsError
from proofsweep.domain.runs import INGEST
from proofsweep.queries.views import (
    ANSWERS_VIEW,
    COMPARISONS_VIEW,
    GONE_FILES,
    LISTING_FILES,
    PARTS,
    RUN_DATE,
    VERDICTS_FILES,
    View,
    advice_views,
    empty_table,
    files_in,
    glob_of,
    items_in,
    newest_per_item,
    quoted,
)
from proofsweep.store import schemas
from proofsweep.store.layout import run_folder
from proofsweep.store.listings import GONE
from proofsweep.store.parts import Results
from proofsweep.store.schemas import SCHEMAS

_HEAD = """\
-- The views of proofsweep over one results store. In DuckDB: .read views.sql
-- A bucket needs DuckDB's httpfs extension and credentials of its own.
-- The views show these environments; set the variable again to see others.
"""
_PLANS = """\
SELECT plan.* REPLACE (coalesce(named, plan.identity) AS identity), catalog_kind = {partial} AS is_partial,
    coalesce(leg.remaining, plan.items) AS remaining,
    coalesce(leg.failed, 0) AS failed, deployment
FROM (
    SELECT
        run_id, environment, catalog, coalesce(nullif(catalog_identity, ''), catalog) AS identity, catalog_kind,
        created_at, items, coalesce(skipped, 0) AS skipped
    FROM read_json({location}, columns = {{run_id: 'VARCHAR', environment: 'VARCHAR', catalog: 'VARCHAR',
        catalog_identity: 'VARCHAR', catalog_kind: 'VARCHAR', created_at: 'VARCHAR', items: 'BIGINT',
        skipped: 'BIGINT'}})
) AS plan
LEFT JOIN (  -- the named catalog that took the place of a retired one
    SELECT environment, identity, max(run_id) AS retired_by, arg_max(catalog_identity, run_id) AS named
    FROM (
        SELECT run_id, environment, catalog_identity, unnest(retired) AS identity
        FROM read_json({location}, columns = {{run_id: 'VARCHAR', environment: 'VARCHAR', catalog_identity: 'VARCHAR',
            retired: 'VARCHAR[]'}})
    )
    GROUP BY ALL
) AS retirement ON (retirement.environment, retirement.identity) = (plan.environment, plan.identity)
    AND plan.run_id < retired_by
LEFT JOIN (
    SELECT
        run_id, arg_max(remaining, leg) AS remaining, sum(failed) AS failed,
        nullif(concat_ws(' ', max(service_version), max(service_commit), max(service_deployed_at)), '') AS deployment
    FROM store.runs
    GROUP BY ALL
) AS leg USING (run_id)"""

_LISTINGS = """\
SELECT run_id, environment, identity, catalog, skipped
FROM store.plans
WHERE NOT is_partial
QUALIFY row_number() OVER (PARTITION BY environment, identity ORDER BY run_id DESC) = 1"""

_LISTING = """\
FROM ({planned}) SEMI JOIN (FROM store.listings WHERE skipped = 0) USING (run_id)
UNION ALL
FROM ({listed}) SEMI JOIN (FROM store.listings WHERE skipped > 0) USING (run_id)"""

_PRUNED = """\
SELECT run_id, environment, identity
FROM store.plans
SEMI JOIN (
    SELECT regexp_extract(file, '([^/]+)/[^/]+$', 1) AS run_id FROM glob({location})
) USING (run_id)"""


def script_of(results: Results, environments: Sequence[str], views: Sequence[View]) -> str:
    """Write the script: the schema `store` over the tables, then the views; ResultsError if DuckDB cannot read it."""
    if "\\" in results.store.url:
        raise ResultsError(
            f"DuckDB alone cannot read {results.store.url}: it takes the backslash for a slash. `proofsweep query` can."
        )
    return _HEAD + "\n".join(f"{statement};\n" for statement in _statements(results, environments, views))


def _statements(results: Results, environments: Sequence[str], views: Sequence[View]) -> Iterator[str]:
    yield f"SET VARIABLE environments = [{', '.join(map(quoted, environments))}]"
    yield "CREATE SCHEMA IF NOT EXISTS store"
    for table in SCHEMAS:
        yield f"CREATE OR REPLACE VIEW store.{table} AS\n{_table(results, table)}"
    yield f"CREATE OR REPLACE VIEW store.verdicts_files AS\n{files_in(glob_of(results, VERDICTS_FILES))}"
    partial, plans = quoted(INGEST), quoted(glob_of(results, "_runs/*/plan.json"))
    yield f"CREATE OR REPLACE VIEW store.plans AS\n{_PLANS.format(partial=partial, location=plans)}"
    yield f"CREATE OR REPLACE VIEW store.listings AS\n{_LISTINGS}"
    planned, listed = (_items(results, files, schemas.ITEMS) for files in LISTING_FILES)
    yield f"CREATE OR REPLACE VIEW store.listing AS\n{_LISTING.format(planned=planned, listed=listed)}"
    yield f"CREATE OR REPLACE VIEW store.gone AS\n{_items(results, GONE_FILES, GONE)}"
    location = quoted(glob_of(results, "_pruned/*/*-intent.json"))
    yield f"CREATE OR REPLACE VIEW store.pruned AS\n{_PRUNED.format(location=location)}"
    yield from advice_views()
    every = f"SELECT {', '.join(schemas.SNAPSHOT.names)} FROM store.verdicts"  # noqa: S608 - our own names
    yield f"CREATE OR REPLACE VIEW store.newest AS\n{newest_per_item(every)}"
    yield ANSWERS_VIEW
    yield COMPARISONS_VIEW
    for view in views:
        yield f"-- {view.meaning}\n{view.statement()}"


def _items(results: Results, files: str, schema: pa.Schema) -> str:
    """Read items of all runs; a store may have none, since DuckDB refuses a pattern that nothing matches."""
    _, _, folder, _ = files.split("/")
    has_some = any(results.store.names(f"{run_folder(run_id)}/{folder}") for run_id in results.store.folders("_runs"))
    return items_in([glob_of(results, files)] if has_some else [], schema)


def _table(results: Results, table: str) -> str:
    if next(results.all_parts(table), None) is None:
        return empty_table(table, SCHEMAS[table])
    location = quoted(glob_of(results, PARTS.format(table)))
    names = "*" if table == "verdicts" else "* EXCLUDE (filename)"
    return (  # the empty row gives each column its type, also those that all files lack
        f"{empty_table(table, SCHEMAS[table])}\n"  # noqa: S608 - our own names
        f"UNION ALL BY NAME SELECT {names}, {RUN_DATE} FROM read_parquet({location}, union_by_name = true, "
        "hive_partitioning = false, filename = true)"
    )
