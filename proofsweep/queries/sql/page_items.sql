-- The files of a catalog page: where they need attention, with their names.
CREATE TEMP TABLE items AS
SELECT
    environment, item_id, identities, state, is_covered, tags, outcome, reason, NULL::TIMESTAMPTZ AS since,
    CASE WHEN state IN ({open}) THEN file END AS file,
    CASE WHEN state IN ({open}) THEN audio END AS audio,
    CASE WHEN state IN ({open}) THEN sidecar END AS sidecar,
    CASE WHEN state IN ({open}) THEN manifest_line END AS manifest_line,
    CASE WHEN state IN ({open}) THEN verify_request_id END AS verify_request_id
FROM catalog
WHERE {chosen}
