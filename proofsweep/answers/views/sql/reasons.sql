-- How many rows each run has of each outcome, verdict and reason, with what to do and an example.
SELECT
    run_id, environment, outcome, verdict, reason,
    CASE WHEN outcome = 'accepted' THEN 'accept the credential' ELSE coalesce(what_to_do, general_advice) END
        AS what_to_do,
    count(*) AS files, min(audio) AS example
FROM verdicts LEFT JOIN store.advice USING (reason), store.general_advice
GROUP BY ALL
