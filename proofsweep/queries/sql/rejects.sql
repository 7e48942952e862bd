-- One row for each item that needs attention now, with what to do: what `catalog` has, but for the accepted ones, those
-- that were not sent yet, and those that are gone or moved, and clips, which nobody has to verify.
SELECT
    environment, item_id, file, outcome, why, action, what_to_do, detail, audio, sidecar, reason, verdict, song,
    proof_id, verify_request_id, run_id, manifest_row, manifest_line, finished_at,
    catalog, first_seen_at, rejected_since, tags
    /* tag columns */
FROM catalog
WHERE state IN ('rejected', 'failed', 'ineligible') AND reason IS DISTINCT FROM 'clip'
