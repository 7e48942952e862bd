-- The runs by their plans and receipts, for a DuckDB that does not know our index.
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
    WHERE catalog_kind IS NOT NULL  -- runs of other kinds have no catalog
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
        run_id, min(remaining) AS remaining, sum(failed) AS failed,
        nullif(concat_ws(' ', max(service_version), max(service_commit), max(service_deployed_at)), '') AS deployment
    FROM store.runs
    GROUP BY ALL
) AS leg USING (run_id)
