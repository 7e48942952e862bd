-- What each run found otherwise than the runs before: per item before and now, and why. A failed row never stands for an
-- item if there is another one. An item is gone if a run that left nothing out of its catalog, and was not pruned, does
-- not have it, or if one that left rows out found it listed no more; an item is new if no run since the last whole one
-- had it, and no rows of theirs were pruned, or if it was gone meanwhile.
WITH files AS (  -- by their names, so that only these are opened
    SELECT filename, at_run, is_now, lists_all, may_be_gone, is_first, older_than
    FROM store.verdicts_files JOIN store.comparisons USING (run_id)
),
lost AS (  -- what a run that left rows out found to be listed no more: one that is told, or one before it
    SELECT at_run, is_now, hash(environment, gone.item_id) AS item, max(run_id) AS lost_by
    FROM store.gone AS gone JOIN store.plans USING (run_id) JOIN store.comparisons USING (run_id)
    GROUP BY ALL
),
asked AS (  -- after a run that left rows out, only what it has and what it found to be listed no more may be otherwise
    SELECT DISTINCT at_run, environment, item_id
    FROM store.verdicts JOIN (FROM files WHERE is_now AND NOT lists_all) USING (filename)
    UNION
    SELECT at_run, environment, gone.item_id
    FROM store.gone AS gone JOIN store.plans USING (run_id)
    JOIN (FROM store.comparisons WHERE NOT lists_all) USING (run_id)
),
compared AS NOT MATERIALIZED (
    SELECT at_run, is_now, may_be_gone, is_first, older_than, verdict.*
    FROM store.verdicts AS verdict JOIN (FROM files WHERE lists_all) USING (filename)
    UNION ALL
    SELECT files.at_run, is_now, may_be_gone, is_first, older_than, verdict.*
    FROM store.verdicts AS verdict
    JOIN asked ON asked.item_id = verdict.item_id AND asked.environment = verdict.environment
    JOIN files ON files.filename = verdict.filename AND files.at_run = asked.at_run
),
differing AS (  -- the few items whose rows are not all alike, told by digests, so that only these are read in full
    SELECT at_run, item
    FROM (
        SELECT
            at_run, is_now, may_be_gone, outcome, hash(environment, item_id) AS item,
            hash(  -- all that is compared below
                audio_sha256, audio_version, sidecar IS NULL, sidecar_sha256, relative_path, audio, outcome, verdict,
                reason, classification, grade_human, grade_ai, grade_unknown, grade_risk_category, grade_rubric_version
            ) AS state
        FROM compared
    )
    GROUP BY at_run, item
    HAVING min(state) <> max(state) OR bool_and(is_now OR outcome = 'failed')
        OR (bool_or(may_be_gone) AND NOT bool_or(is_now))
    UNION
    SELECT at_run, item FROM lost
),
open AS (  -- items that have no row before, or failed ones alone: a night without an answer hides none of older runs
    SELECT at_run, hash(environment, item_id) AS item, bool_or(may_be_gone) AS may_be_gone
    FROM compared WHERE older_than IS NOT NULL
    GROUP BY at_run, item
    HAVING bool_and(is_now OR outcome = 'failed') AND (bool_or(is_first) OR NOT bool_and(is_now))
    UNION
    SELECT at_run, item, true
    FROM lost SEMI JOIN (FROM store.comparisons WHERE is_first) AS comparisons USING (at_run)
    WHERE is_now
),
older AS (
    SELECT filename, at_run
    FROM store.verdicts_files
    JOIN (SELECT DISTINCT at_run, older_than FROM store.comparisons WHERE older_than IS NOT NULL) ON run_id < older_than
),
found AS (
    SELECT compared.* EXCLUDE (is_first, older_than)
    FROM compared
    JOIN differing ON differing.at_run = compared.at_run  -- a semi-join would not open fewer files for one run
        AND differing.item = hash(compared.environment, compared.item_id)
    UNION ALL
    SELECT older.at_run, false, open.may_be_gone, earlier.*
    FROM store.verdicts AS earlier
    JOIN older USING (filename)
    JOIN open ON open.at_run = older.at_run AND open.item = hash(earlier.environment, earlier.item_id)
),
unread AS (  -- folders whose files are not known
    SELECT at_run, list(relative_path) AS unread
    FROM store.verdicts JOIN files USING (filename)
    WHERE is_now AND reason = 'unreadable_folder' AND suffix(relative_path, '/')
    GROUP BY at_run
),
told AS (
    SELECT found.* REPLACE (
        (may_be_gone AND coalesce(len(list_filter(unread, lambda each: prefix(relative_path, each))), 0) = 0)
            OR lost.item IS NOT NULL AS may_be_gone
    )
    FROM found
    LEFT JOIN unread ON unread.at_run = found.at_run
    LEFT JOIN lost ON lost.at_run = found.at_run AND lost.item = hash(found.environment, found.item_id) AND lost.is_now
    ANTI JOIN lost AS since_lost ON since_lost.at_run = found.at_run AND since_lost.is_now = found.is_now
        AND since_lost.item = hash(found.environment, found.item_id) AND found.run_id < since_lost.lost_by
),
states AS (
    SELECT
        at_run, found.environment, found.item_id, is_now, may_be_gone, audio_sha256,
        struct_pack(
            run_id := run_id, audio := audio, relative_path := relative_path, outcome := outcome, verdict := verdict,
            reason := reason, classification := classification, grade_human := grade_human, grade_ai := grade_ai,
            grade_unknown := grade_unknown, grade_risk_category := grade_risk_category,
            grade_rubric_version := grade_rubric_version, audio_sha256 := audio_sha256,
            sidecar := sidecar, sidecar_sha256 := sidecar_sha256, audio_version := audio_version,
            verify_request_id := verify_request_id,
            tags := tags
        ) AS state
    FROM told AS found
    QUALIFY row_number() OVER (
        PARTITION BY at_run, found.environment, found.item_id, is_now
        ORDER BY outcome = 'failed', coalesce(answered_at, finished_at) DESC, run_id DESC, leg DESC, manifest_row DESC
    ) = 1
),
by_item AS (
    SELECT
        at_run, environment, item_id, audio_sha256,
        CASE WHEN is_now THEN state END AS now,
        CASE WHEN is_now THEN lag(state) OVER item ELSE state END AS before
    FROM states
    WINDOW item AS (PARTITION BY at_run, environment, item_id ORDER BY is_now)
    QUALIFY is_now OR (may_be_gone AND lead(is_now) OVER item IS NULL)
),
alone AS (  -- the same audio under another ID: the n-th that is gone became the n-th that is new
    SELECT *, row_number() OVER (PARTITION BY at_run, environment, audio_sha256, now IS NULL ORDER BY item_id) AS place
    FROM by_item
    WHERE now IS NULL OR before IS NULL
),
moved AS (
    SELECT at_run, environment, item_id, now, coalesce(before, lag(before) OVER same_audio) AS before
    FROM alone
    WINDOW same_audio AS (
        PARTITION BY at_run, environment, coalesce(audio_sha256, item_id), place ORDER BY now IS NOT NULL
    )
    QUALIFY now IS NOT NULL OR lead(now) OVER same_audio IS NULL
),
judged AS (
    SELECT
        *,
        now.audio_sha256 <> before.audio_sha256 OR (
            now.audio_version <> before.audio_version
            AND (now.audio_sha256 IS NULL OR before.audio_sha256 IS NULL)
        ) AS has_other_audio,
        now.sidecar_sha256 <> before.sidecar_sha256 OR (now.sidecar IS NULL) <> (before.sidecar IS NULL)
            AS has_other_sidecar,
        now.sidecar IS NOT NULL AND coalesce(now.reason <> 'missing_sidecar', true)
            AND (before.sidecar IS NULL OR before.reason = 'missing_sidecar') AS has_new_sidecar,
        coalesce(now.relative_path <> before.relative_path, now.audio <> before.audio) AS has_moved,
        (now.outcome, now.verdict, now.reason) IS DISTINCT FROM (before.outcome, before.verdict, before.reason)
            AS has_other_outcome,
        (now.classification, now.grade_human, now.grade_ai, now.grade_unknown, now.grade_risk_category)
        IS DISTINCT FROM (
            before.classification, before.grade_human, before.grade_ai, before.grade_unknown,
            before.grade_risk_category
        ) AS has_other_grade,
        now.grade_rubric_version IS DISTINCT FROM before.grade_rubric_version AS has_other_rubric
    FROM (
        SELECT at_run, environment, item_id, now, before, false AS has_other_id
        FROM by_item
        WHERE now IS NOT NULL AND before IS NOT NULL
        UNION ALL
        SELECT *, true FROM moved
    )
)
SELECT
    at_run AS run_id, judged.environment, item_id,
    CASE
        WHEN before IS NULL THEN 'new'
        WHEN now IS NULL THEN 'gone'
        WHEN before.outcome = 'accepted' AND now.outcome <> 'accepted' THEN 'broken'
        WHEN before.outcome <> 'accepted' AND now.outcome = 'accepted' THEN 'fixed'
        ELSE 'changed'
    END AS change,
    CASE
        WHEN before IS NULL THEN 'first_seen'
        WHEN now IS NULL THEN 'gone'
        WHEN now.outcome = 'failed' THEN 'no_answer_now'
        WHEN has_new_sidecar AND coalesce(now.audio_sha256 = before.audio_sha256, true) THEN 'sidecar_delivered'
        WHEN has_other_audio THEN 'audio_changed'
        WHEN has_other_sidecar THEN 'sidecar_changed'
        WHEN has_other_outcome AND 'ineligible' IN (now.outcome, before.outcome) THEN 'file_or_catalog_changed'
        WHEN before.outcome = 'failed' THEN 'no_answer_before'
        WHEN has_other_rubric AND NOT has_other_outcome THEN 'rubric_changed'
        WHEN has_other_id OR has_moved THEN 'moved'
    END AS cause,
    coalesce(now.relative_path, now.audio, before.relative_path, before.audio) AS file,
    before.outcome AS before_outcome, now.outcome AS now_outcome,
    before.verdict AS before_verdict, now.verdict AS now_verdict,
    before.reason AS before_reason, now.reason AS now_reason,
    before.classification AS before_classification, now.classification AS now_classification,
    before.grade_human AS before_grade_human, now.grade_human AS now_grade_human,
    before.grade_ai AS before_grade_ai, now.grade_ai AS now_grade_ai,
    before.grade_unknown AS before_grade_unknown, now.grade_unknown AS now_grade_unknown,
    before.grade_risk_category AS before_grade_risk_category, now.grade_risk_category AS now_grade_risk_category,
    before.grade_rubric_version AS before_grade_rubric_version, now.grade_rubric_version AS now_grade_rubric_version,
    coalesce(before.relative_path, before.audio) AS before_file, before.audio AS before_audio, now.audio AS now_audio, before.run_id AS before_run_id,
    now.verify_request_id AS verify_request_id, plans.catalog,
    strptime(at_run[:8], '%Y%m%d')::DATE AS run_date, coalesce(now.tags, before.tags) AS tags /* tag columns */
FROM judged
JOIN store.plans AS plans ON plans.run_id = at_run
WHERE (
    has_other_id OR has_other_audio OR has_other_sidecar OR has_moved OR has_other_outcome OR has_other_grade
    OR has_other_rubric
) AND (before IS NOT NULL OR at_run IN (SELECT at_run FROM store.comparisons WHERE may_be_new))
