-- One row for each item of the newest whole listing of each catalog: its newest answer, or why there is none; and one for
-- each item that was answered and is listed no more. What a pass over a watched folder took is never gone: passes move
-- files. The newest tags that were given stay.
WITH listed AS NOT MATERIALIZED (  -- of an item in several listings, or named twice, the newest and its first row
    SELECT
        environment, item_id,
        arg_max(
            struct_pack(
                identity := identity, catalog := catalog, run_id := run_id, manifest_row := manifest_row,
                audio := coalesce(try(decode(audio)), audio::VARCHAR),
                sidecar := coalesce(try(decode(sidecar)), sidecar::VARCHAR), audio_bytes := audio_bytes,
                audio_version := audio_version, sidecar_version := sidecar_version, reason := reason,
                detail := detail, relative_path := relative_path
            ),
            (run_id, -manifest_row)
        ) AS item,
        arg_max(tags, (run_id, -manifest_row)) FILTER (tags IS NOT NULL) AS tags
    FROM store.listing JOIN store.listings USING (run_id)
    WHERE list_contains(getvariable('environments'), environment)
        AND NOT (item_id = 'redacted' AND audio = 'redacted'::BLOB)
    GROUP BY environment, item_id
),
homes AS (  -- of each run
    SELECT
        plans.run_id, plans.identity, plans.catalog,
        listings.run_id IS NOT NULL AND catalog_kind <> 'ingest' AS may_be_gone
    FROM store.plans AS plans
    LEFT JOIN store.listings AS listings
        ON (listings.environment, listings.identity) = (plans.environment, plans.identity)
),
unlisted AS MATERIALIZED (  -- what was answered, and is listed no more
    SELECT answer.environment, answer.item_id, answer.audio_sha256
    FROM store.answers AS answer
    SEMI JOIN (FROM homes WHERE may_be_gone) AS homes ON homes.run_id = answer.run_id
    ANTI JOIN (
        SELECT environment, item_id FROM store.listing JOIN store.listings USING (run_id)
    ) AS listed ON (listed.environment, listed.item_id) = (answer.environment, answer.item_id)
),
moved AS (  -- the same bytes are listed under another name
    SELECT unlisted.environment, unlisted.item_id, min(same_audio.file) AS moved_to
    FROM unlisted
    JOIN (
        SELECT environment, audio_sha256, coalesce(relative_path, audio) AS file
        FROM store.answers
        SEMI JOIN unlisted USING (environment, audio_sha256)
        ANTI JOIN unlisted USING (environment, item_id)
    ) AS same_audio USING (environment, audio_sha256)
    GROUP BY ALL
),
untagged AS MATERIALIZED (
    SELECT environment, item_id, audio
    FROM store.newest
    WHERE list_contains(getvariable('environments'), environment) AND tags IS NULL AND audio <> ''
),
lent AS MATERIALIZED (  -- the tags of the same file in another catalog, as of a folder that a manifest lists too
    SELECT untagged.environment, untagged.item_id, arg_max(other.tags, (other.epoch, other.finished_at)) AS tags
    FROM store.newest AS other JOIN untagged USING (environment, audio)
    WHERE other.tags IS NOT NULL
    GROUP BY ALL
),
known AS (
    SELECT
        stands.* REPLACE (coalesce(listed.tags, stands.tags, lent.tags) AS tags), listed.item AS listed, homes.identity,
        homes.catalog, homes.may_be_gone,
        coalesce(stands.environment, listed.environment) AS environment_,
        coalesce(stands.item_id, listed.item_id) AS item_id_,
        moved_to
    FROM standing AS stands
    LEFT JOIN homes USING (run_id)
    LEFT JOIN lent ON (lent.environment, lent.item_id) = (stands.environment, stands.item_id)
    LEFT JOIN moved ON (moved.environment, moved.item_id) = (stands.environment, stands.item_id)
    FULL JOIN listed ON (listed.environment, listed.item_id) = (stands.environment, stands.item_id)
),
judged AS (
    SELECT
        *,
        coalesce(
            answered_at IS NOT NULL AND coalesce(answered_audio_version = listed.audio_version, true)
            AND coalesce(answered_sidecar_version = listed.sidecar_version, true),
            false
        ) AS is_answered_as_listed,
        CASE
            WHEN listed IS NULL AND moved_to IS NOT NULL THEN 'moved'
            WHEN listed IS NULL AND may_be_gone THEN 'gone'
            WHEN listed IS NULL THEN outcome
            WHEN listed.reason IS NOT NULL AND coalesce(run_id < listed.run_id, true) THEN 'listed'
            WHEN outcome = 'ineligible' AND run_id < listed.run_id
                AND audio_version IS DISTINCT FROM listed.audio_version THEN 'not_sent'
            ELSE coalesce(outcome, 'not_sent')
        END AS stands_as
    FROM known
)
SELECT
    environment_ AS environment, coalesce(listed.catalog, catalog) AS catalog,
    coalesce(listed.identity, identity) AS identity, item_id_ AS item_id,
    coalesce(listed.relative_path, relative_path, audio, listed.audio) AS file,
    CASE stands_as WHEN 'listed' THEN 'ineligible' ELSE stands_as END AS state,
    listed IS NOT NULL AND is_answered_as_listed AS is_current,
    listed IS NOT NULL AND (is_answered_as_listed OR stands_as IN ('listed', 'ineligible')) AS is_covered,
    moved_to, answered_at,
    CASE stands_as WHEN 'listed' THEN 'ineligible' WHEN 'not_sent' THEN NULL ELSE outcome END AS outcome,
    coalesce(CASE WHEN stands_as NOT IN ('listed', 'not_sent') THEN verdict END, shown.reason) AS why,
    CASE WHEN stands_as IN ('rejected', 'failed', 'ineligible', 'listed') THEN coalesce(what_to_do, general_advice) END
        AS what_to_do,
    CASE stands_as WHEN 'listed' THEN listed.detail WHEN 'not_sent' THEN NULL ELSE detail END AS detail,
    coalesce(audio, listed.audio) AS audio,
    CASE WHEN run_id IS NULL THEN listed.sidecar ELSE sidecar END AS sidecar, mode,
    coalesce(audio_bytes, listed.audio_bytes) AS audio_bytes, audio_sha256, shown.reason,
    CASE WHEN stands_as NOT IN ('listed', 'not_sent') THEN verdict END AS verdict,
    CASE stands_as WHEN 'listed' THEN 'fix_catalog' WHEN 'not_sent' THEN NULL ELSE action END AS action, song, proof_id,
    issued_at, classification, grade_human, grade_ai, grade_unknown, grade_risk_category, grade_rubric_version,
    http_status, error_code, uploads_request_id, verify_request_id, run_id, leg, manifest_row, finished_at,
    listed.run_id AS listed_run_id, tags /* tag columns */ /* screening columns */
FROM (
    SELECT
        * EXCLUDE (reason),
        struct_pack(
            reason := CASE stands_as WHEN 'listed' THEN listed.reason WHEN 'not_sent' THEN NULL ELSE reason END
        ) AS shown
    FROM judged
)
LEFT JOIN (SELECT reason AS advised, what_to_do FROM store.advice) ON advised = shown.reason, store.general_advice
