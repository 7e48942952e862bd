-- One row for each item of the newest whole listing of each catalog: its newest answer, or why there is none; and one for
-- each item that was answered and is listed no more. What a pass over a watched folder took is never gone: passes move
-- files; nor is what lies in a folder that could not be read. Of a catalog that is retired nothing is here, but for what
-- another one lists. The newest tags that were given stay. Audio and sidecar are where the newest listing or a later run
-- found them. First seen is when the first run with the item began, of those whose rows are there; accepted or rejected
-- since is when the first answer came of all that said the same without another one between.
WITH every_listed AS NOT MATERIALIZED (
    SELECT
        environment, identity, catalog, run_id, manifest_row, item_id, audio, sidecar, audio_bytes, audio_version,
        sidecar_version, reason, detail, relative_path, manifest_line, audio_format, tags
    FROM store.listing JOIN store.listings USING (run_id)
    WHERE list_contains(getvariable('environments'), environment)
),
repeated AS MATERIALIZED (  -- items in several listings, or named twice: the newest counts, and its first row
    SELECT
        every_listed.environment, every_listed.item_id, max((run_id, -manifest_row)) AS newest,
        arg_max(tags, (run_id, -manifest_row)) FILTER (tags IS NOT NULL) AS given,
        list_sort(list(DISTINCT identity)) AS identities
    FROM every_listed
    SEMI JOIN (  -- by digests, which take a third of the memory; two items with the same one do no harm here
        SELECT hash(environment, item_id) AS item FROM every_listed GROUP BY ALL HAVING count(*) > 1
    ) AS again ON again.item = hash(every_listed.environment, every_listed.item_id)
    GROUP BY ALL
),
listed AS NOT MATERIALIZED (
    SELECT * FROM every_listed ANTI JOIN repeated USING (environment, item_id)
    UNION ALL BY NAME
    SELECT every_listed.* REPLACE (given AS tags)
    FROM every_listed
    JOIN repeated ON repeated.environment = every_listed.environment AND repeated.item_id = every_listed.item_id
        AND newest = (run_id, -manifest_row)
),
unread AS (
    SELECT run_id, list(relative_path) AS unread
    FROM every_listed
    WHERE reason = 'unreadable_folder' AND suffix(relative_path, '/')
    GROUP BY run_id
),
homes AS (  -- of each run
    SELECT
        plans.run_id, plans.identity, plans.catalog, plans.is_retired,
        listings.run_id IS NOT NULL AND catalog_kind <> 'ingest' AS may_be_gone, unread
    FROM store.plans AS plans
    LEFT JOIN store.listings AS listings
        ON (listings.environment, listings.identity) = (plans.environment, plans.identity)
    LEFT JOIN unread ON unread.run_id = listings.run_id
),
unlisted AS MATERIALIZED (  -- what was answered, and is listed no more
    SELECT answer.environment, answer.item_id, answer.audio_sha256, answer.run_id
    FROM store.answers AS answer
    SEMI JOIN (FROM homes WHERE may_be_gone) AS homes ON homes.run_id = answer.run_id
    ANTI JOIN every_listed USING (environment, item_id)
),
same_audio AS MATERIALIZED (  -- under another name, which is listed
    SELECT
        environment, audio_sha256, first_run_id, coalesce(relative_path, audio) AS file,
        row_number() OVER (PARTITION BY environment, audio_sha256, first_run_id ORDER BY item_id) AS place
    FROM store.answers
    SEMI JOIN unlisted USING (environment, audio_sha256)
    ANTI JOIN unlisted USING (environment, item_id)
),
followed AS (  -- by what came since with the same bytes
    SELECT
        unlisted.*, min(same_audio.file) AS any_file,
        min(same_audio.first_run_id) FILTER (same_audio.first_run_id > unlisted.run_id) AS moved_by
    FROM unlisted JOIN same_audio USING (environment, audio_sha256)
    GROUP BY ALL
),
moved AS (  -- As in `changes`, the n-th that is gone became the n-th that was new; a copy that was there is the last choice.
    SELECT gone.environment, gone.item_id, coalesce(same_audio.file, any_file) AS moved_to
    FROM (
        SELECT
            *,
            row_number() OVER (PARTITION BY environment, audio_sha256, run_id, moved_by ORDER BY item_id) AS place
        FROM followed
    ) AS gone
    LEFT JOIN same_audio
        ON same_audio.environment = gone.environment AND same_audio.audio_sha256 = gone.audio_sha256
        AND same_audio.first_run_id = moved_by AND same_audio.place = gone.place
),
untagged AS MATERIALIZED (
    SELECT environment, item_id, audio
    FROM store.newest
    WHERE list_contains(getvariable('environments'), environment) AND tags IS NULL AND audio <> ''
),
lent AS MATERIALIZED (  -- the tags of the same file in another catalog, as of a folder that a manifest lists too
    SELECT
        untagged.environment, untagged.item_id,
        arg_max(other.tags, (other.answered_at, other.run_id, other.leg)) AS tags
    FROM store.newest AS other JOIN untagged USING (environment, audio)
    WHERE other.tags IS NOT NULL
    GROUP BY ALL
),
others AS MATERIALIZED (
    FROM store.newest
    WHERE list_contains(getvariable('environments'), environment) AND outcome NOT IN ('accepted', 'rejected')
),
answered AS MATERIALIZED (
    SELECT
        answer.environment, answer.item_id, answer.answered_at, answer.run_id, answer.leg, answer.manifest_row,
        answer.outcome, answer.audio_version, answer.sidecar, answer.sidecar_version
    FROM store.answers AS answer
    SEMI JOIN others USING (environment, item_id)
),
instead AS MATERIALIZED (
    SELECT
        others.* REPLACE (answered.answered_at AS answered_at), answered.audio_version AS answered_audio_version,
        answered.sidecar AS answered_sidecar, answered.sidecar_version AS answered_sidecar_version
    FROM others LEFT JOIN answered ON answered.item_id = others.item_id AND answered.environment = others.environment
    WHERE answered.item_id IS NULL OR (
        (others.answered_at, others.run_id, others.leg, others.manifest_row)
            > (answered.answered_at, answered.run_id, answered.leg, answered.manifest_row)
        AND (others.outcome = 'ineligible' OR answered.outcome = 'accepted')
    )
),
standing AS NOT MATERIALIZED (  -- each item as it stands now: by its newest answer, unless it is ineligible since then,
    -- or was accepted and failed since then. What was rejected stays rejected when a later attempt fails.
    SELECT
        answer.*, audio_version AS answered_audio_version,
        sidecar AS answered_sidecar, sidecar_version AS answered_sidecar_version
    FROM store.answers AS answer
    ANTI JOIN instead USING (environment, item_id)
    UNION ALL BY NAME
    SELECT * FROM instead
),
known AS NOT MATERIALIZED (
    SELECT
        stands.* REPLACE (coalesce(listed.tags, stands.tags, lent.tags) AS tags),
        homes.identity, homes.catalog, homes.may_be_gone, homes.unread, moved_to,
        coalesce(stands.environment, listed.environment) AS environment_,
        coalesce(stands.item_id, listed.item_id) AS item_id_,
        coalesce(repeated.identities, [coalesce(listings.identity, homes.identity)]) AS identities,
        listed.item_id IS NOT NULL AS is_listed, listings.identity AS listed_identity,
        listings.catalog AS listed_catalog,
        listed.run_id AS listed_run_id, listed.audio AS listed_audio, listed.sidecar AS listed_sidecar,
        listed.audio_bytes AS listed_audio_bytes, listed.audio_version AS listed_audio_version,
        listed.sidecar_version AS listed_sidecar_version, listed.reason AS listed_reason,
        listed.audio_format AS listed_audio_format, listed.detail AS listed_detail, listed.relative_path AS listed_path, listed.manifest_line AS listed_line
    FROM standing AS stands
    LEFT JOIN homes USING (run_id)
    LEFT JOIN lent ON lent.environment = stands.environment AND lent.item_id = stands.item_id
    LEFT JOIN moved ON moved.environment = stands.environment AND moved.item_id = stands.item_id
    FULL JOIN listed ON listed.environment = stands.environment AND listed.item_id = stands.item_id
    -- What is the same for a whole listing comes last: the join before keeps all that is listed in memory.
    LEFT JOIN store.listings AS listings ON listings.run_id = listed.run_id
    LEFT JOIN repeated ON repeated.environment = listed.environment AND repeated.item_id = listed.item_id
    WHERE listed.item_id IS NOT NULL OR NOT coalesce(homes.is_retired, false)
),
judged AS NOT MATERIALIZED (
    SELECT
        *,
        answered_at IS NOT NULL AND (NOT is_listed OR (
            coalesce(answered_audio_version = listed_audio_version, true)
            AND coalesce(answered_sidecar_version = listed_sidecar_version, true)
            AND (answered_sidecar IS NULL) = (listed_sidecar IS NULL)
            AND coalesce(suffix(try(decode(listed_sidecar)), regexp_extract(answered_sidecar, '/[^/]*$')), true)
        )) AS is_answered_as_listed,
        CASE
            WHEN NOT is_listed AND len(list_filter(unread, lambda each: prefix(relative_path, each))) > 0 THEN outcome
            WHEN NOT is_listed AND moved_to IS NOT NULL THEN 'moved'
            WHEN NOT is_listed AND may_be_gone THEN 'gone'
            WHEN NOT is_listed THEN outcome
            WHEN listed_reason IS NOT NULL AND coalesce(run_id < listed_run_id, true) THEN 'listed'
            WHEN outcome = 'ineligible' AND run_id < listed_run_id
                AND audio_version IS DISTINCT FROM listed_audio_version THEN 'not_sent'
            ELSE coalesce(outcome, 'not_sent')
        END AS stands_as,
        -- A catalog may lie elsewhere now, as after a mount moved: the newest listing knows where.
        is_listed AND coalesce(run_id < listed_run_id, true) AS is_found_anew,
        CASE stands_as WHEN 'listed' THEN listed_reason WHEN 'not_sent' THEN NULL ELSE reason END AS shown_reason
    FROM known
)
SELECT
    environment_ AS environment, coalesce(listed_catalog, catalog) AS catalog,
    coalesce(listed_identity, identity) AS identity, item_id_ AS item_id,
    coalesce(listed_path, relative_path, audio, try(decode(listed_audio)), listed_audio::VARCHAR) AS file,
    CASE stands_as WHEN 'listed' THEN 'ineligible' ELSE stands_as END AS state,
    stands_as NOT IN ('gone', 'moved') AND is_answered_as_listed AS is_current,
    is_current OR stands_as IN ('listed', 'ineligible') AS is_covered,
    moved_to, answered_at,
    CASE stands_as WHEN 'listed' THEN 'ineligible' WHEN 'not_sent' THEN NULL ELSE outcome END AS outcome,
    coalesce(CASE WHEN stands_as NOT IN ('listed', 'not_sent') THEN verdict END, shown_reason) AS why,
    CASE WHEN stands_as IN ('rejected', 'failed', 'ineligible', 'listed') THEN coalesce(what_to_do, general_advice) END
        AS what_to_do,
    CASE stands_as WHEN 'listed' THEN listed_detail WHEN 'not_sent' THEN NULL ELSE detail END AS detail,
    CASE WHEN is_found_anew THEN coalesce(try(decode(listed_audio)), listed_audio::VARCHAR) ELSE audio END AS audio,
    CASE WHEN is_found_anew THEN coalesce(try(decode(listed_sidecar)), listed_sidecar::VARCHAR) ELSE sidecar END
        AS sidecar,
    mode, coalesce(audio_format, listed_audio_format) AS audio_format,
    coalesce(audio_bytes, listed_audio_bytes) AS audio_bytes, audio_sha256, shown_reason AS reason,
    CASE WHEN stands_as NOT IN ('listed', 'not_sent') THEN verdict END AS verdict,
    CASE stands_as WHEN 'listed' THEN 'fix_catalog' WHEN 'not_sent' THEN NULL ELSE action END AS action, song, proof_id,
    issued_at, classification, grade_human, grade_ai, grade_unknown, grade_risk_category, grade_rubric_version,
    http_status, error_code, uploads_request_id, verify_request_id, run_id, leg, manifest_row, finished_at,
    listed_run_id, CASE WHEN is_listed THEN listed_line ELSE manifest_line END AS manifest_line, identities,
    calls, strptime(first_run_id[:15], '%Y%m%dT%H%M%S') AT TIME ZONE 'UTC' AS first_seen_at,
    CASE stands_as WHEN 'accepted' THEN coalesce(outcome_since, answered_at) END AS accepted_since,
    CASE stands_as WHEN 'rejected' THEN coalesce(outcome_since, answered_at) END AS rejected_since,
    tags /* tag columns */
FROM judged
LEFT JOIN (SELECT reason AS advised, what_to_do FROM store.advice) ON advised = shown_reason, store.general_advice
