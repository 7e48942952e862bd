-- One row for each HTTP exchange and each file whose answer it led to; its file is null if it was made for none. So those
-- of one file are all that its answers rest on: also the exchanges for a file with the same bytes, of the same run or of
-- an earlier one, whose answer was used.
WITH called_for AS (
    SELECT environment, item_id, file, run_id, manifest_row FROM verdicts
    UNION
    SELECT environment, item_id, file, run_id, answered_by_row FROM verdicts WHERE answered_by_row IS NOT NULL
    UNION
    SELECT
        later.environment, later.item_id, later.file, earlier.run_id,
        coalesce(earlier.answered_by_row, earlier.manifest_row)
    FROM verdicts AS earlier
    JOIN verdicts AS later
        ON (later.answered_by_run, later.verify_request_id) = (earlier.run_id, earlier.verify_request_id)
)
SELECT exchanges.*, item_id, file
FROM exchanges
LEFT JOIN called_for ON (called_for.run_id, called_for.manifest_row) = (exchanges.run_id, exchanges.manifest_row)
