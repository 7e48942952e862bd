-- One row for each item, as it stands now: by its newest answer, unless it is ineligible since then, or was accepted and
-- failed since then. What was rejected stays rejected when a later attempt fails. It also says when its newest answer was
-- given, and for which versions of its files.
WITH others AS MATERIALIZED (
    FROM store.newest
    WHERE list_contains(getvariable('environments'), environment) AND outcome NOT IN ('accepted', 'rejected')
),
answered AS MATERIALIZED (
    SELECT
        answer.environment, answer.item_id, answer.epoch, answer.finished_at, answer.run_id, answer.outcome,
        answer.audio_version, answer.sidecar_version
    FROM store.answers AS answer
    SEMI JOIN others ON (others.item_id, others.environment) = (answer.item_id, answer.environment)
),
instead AS MATERIALIZED (
    SELECT
        others.*, answered.finished_at AS answered_at, answered.audio_version AS answered_audio_version,
        answered.sidecar_version AS answered_sidecar_version
    FROM others LEFT JOIN answered ON (answered.item_id, answered.environment) = (others.item_id, others.environment)
    WHERE answered.item_id IS NULL OR (
        (others.epoch, others.finished_at, others.run_id) > (answered.epoch, answered.finished_at, answered.run_id)
        AND (others.outcome = 'ineligible' OR answered.outcome = 'accepted')
    )
)
SELECT
    answer.*, finished_at AS answered_at, audio_version AS answered_audio_version,
    sidecar_version AS answered_sidecar_version /* tag columns */
FROM store.answers AS answer
ANTI JOIN instead ON (instead.item_id, instead.environment) = (answer.item_id, answer.environment)
UNION ALL BY NAME
SELECT * /* tag columns */ FROM instead
