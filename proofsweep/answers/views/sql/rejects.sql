-- One row for each item that needs attention now, with what to do: what `standing` has, but for the accepted ones.
SELECT
    environment, item_id, coalesce(relative_path, audio) AS file, outcome, coalesce(verdict, reason) AS why, action,
    coalesce(what_to_do, general_advice) AS what_to_do, detail, audio, sidecar, reason, verdict, song, proof_id,
    verify_request_id, run_id, manifest_row, finished_at, tags
    /* tag columns */
FROM standing LEFT JOIN store.advice USING (reason), store.general_advice
WHERE outcome <> 'accepted'
