-- One row for each item that needs attention now, with what to do. An item whose last attempt failed is here by its last
-- answer if that was a rejection, and else as failed.
WITH attention AS (
    FROM latest_attempt WHERE outcome IN ('rejected', 'ineligible')
    UNION ALL BY NAME
    SELECT answer.*
    FROM latest_answer AS answer
    SEMI JOIN (FROM latest_attempt WHERE outcome = 'failed') AS failed USING (item_id, environment)
    WHERE answer.outcome = 'rejected'
    UNION ALL BY NAME
    SELECT failed.*
    FROM (FROM latest_attempt WHERE outcome = 'failed') AS failed
    ANTI JOIN (FROM latest_answer WHERE outcome = 'rejected') AS answer USING (item_id, environment)
)
SELECT
    environment, item_id, coalesce(relative_path, audio) AS file, outcome, coalesce(verdict, reason) AS why, action,
    coalesce(what_to_do, general_advice) AS what_to_do, detail, audio, sidecar, reason, verdict, song, proof_id,
    verify_request_id, run_id, manifest_row, finished_at, tags
    /* tag columns */
FROM attention LEFT JOIN store.advice USING (reason), store.general_advice
