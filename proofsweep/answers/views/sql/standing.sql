-- One row for each item, as it stands now: by its newest answer, unless it is ineligible since then, or was accepted and
-- failed since then. What was rejected stays rejected when a later attempt fails.
WITH others AS (
    FROM latest_attempt WHERE outcome IN ('failed', 'ineligible')
)
SELECT answer.*
FROM latest_answer AS answer
ANTI JOIN others ON (others.item_id, others.environment) = (answer.item_id, answer.environment)
    AND (others.outcome = 'ineligible' OR answer.outcome = 'accepted')
UNION ALL BY NAME
SELECT others.*
FROM others
ANTI JOIN (FROM latest_answer WHERE outcome = 'rejected') AS answer
    ON others.outcome = 'failed' AND (others.item_id, others.environment) = (answer.item_id, answer.environment)
