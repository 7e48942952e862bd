"""The SQL that compares two sides of a diff. Text alone."""

_ROWS = """
    item_id VARCHAR, audio VARCHAR, relative_path VARCHAR, audio_sha256 VARCHAR, audio_version VARCHAR, sidecar VARCHAR,
    sidecar_sha256 VARCHAR, outcome VARCHAR, reason VARCHAR, verdict VARCHAR, proof_id VARCHAR, classification VARCHAR,
    grade_json VARCHAR, grade_rubric_version VARCHAR, run_id VARCHAR, finished_at TIMESTAMPTZ, manifest_row BIGINT
"""

TABLES = f"""
CREATE TABLE now_rows ({_ROWS});
CREATE TABLE before_rows ({_ROWS});
CREATE TABLE whole_items (item_id VARCHAR);
CREATE TABLE planned_items (item_id VARCHAR);
CREATE TABLE services (run_id VARCHAR, service_commit VARCHAR);
CREATE TABLE open_items (item_id VARCHAR);
CREATE TABLE erasures (proof_id VARCHAR, asked_at TIMESTAMPTZ);
"""

OPEN_ITEMS = """
INSERT INTO open_items SELECT item_id FROM now_rows UNION SELECT item_id FROM whole_items;
"""

CLOSE_ANSWERED = """
DELETE FROM open_items WHERE item_id IN (
    SELECT item_id FROM before_rows WHERE outcome <> 'failed'
);
"""

# Of several rows of an item the newest counts that is not failed: a night without an answer hides nothing.
_ONE_OF_EACH = """
    SELECT * FROM {side}_rows LEFT JOIN services USING (run_id)
    QUALIFY row_number() OVER (
        PARTITION BY item_id
        ORDER BY outcome = 'failed', run_id DESC, finished_at DESC, manifest_row DESC
    ) = 1
"""

# An item that is gone and one that is new with the same audio are one that moved; of several, the n-th of each.
# The causes are those of the view `changes`, and further ones where a row is no answer; a test compares both.
CHANGES = f"""
CREATE TABLE changes AS
WITH now AS ({_ONE_OF_EACH.format(side="now")}),
all_before AS ({_ONE_OF_EACH.format(side="before")}),
missing AS (
    SELECT item_id, audio_sha256, row_number() OVER (PARTITION BY audio_sha256 ORDER BY item_id) AS place
    FROM all_before ANTI JOIN now USING (item_id)
    WHERE item_id IN (SELECT item_id FROM whole_items) AND item_id NOT IN (SELECT item_id FROM planned_items)
),
added AS (
    SELECT item_id AS new_id, audio_sha256, row_number() OVER (PARTITION BY audio_sha256 ORDER BY item_id) AS place
    FROM now ANTI JOIN all_before USING (item_id)
),
before AS (
    SELECT all_before.* REPLACE (coalesce(new_id, item_id) AS item_id), new_id IS NOT NULL AS has_other_id
    FROM all_before
    LEFT JOIN (SELECT item_id, new_id FROM missing JOIN added USING (audio_sha256, place)) USING (item_id)
),
erased AS (SELECT proof_id, min(asked_at) AS erased_at FROM erasures GROUP BY ALL),
pairs AS (
    SELECT
        coalesce(now.item_id, before.item_id) AS item_id,
        coalesce(now.audio, before.audio) AS audio,
        before.outcome AS before, before.reason AS before_reason, before.run_id AS before_run,
        now.outcome AS now, now.reason AS now_reason, now.run_id AS now_run,
        now.audio_sha256 <> before.audio_sha256 OR (
            now.audio_version <> before.audio_version
            AND (now.audio_sha256 IS NULL OR before.audio_sha256 IS NULL)
        ) AS has_other_audio,
        now.sidecar_sha256 <> before.sidecar_sha256 OR (now.sidecar IS NULL) <> (before.sidecar IS NULL)
            AS has_other_sidecar,
        has_other_id OR coalesce(now.relative_path <> before.relative_path, now.audio <> before.audio) AS is_moved,
        now.verdict = 'unregistered' AND erased_at <= now.finished_at AS is_erased,
        coalesce(now.grade_rubric_version <> before.grade_rubric_version, false) AS has_other_rubric,
        coalesce(now.service_commit <> before.service_commit, false) AS has_other_service,
        now.classification IS DISTINCT FROM before.classification AS has_other_class,
        now.grade_json IS DISTINCT FROM before.grade_json AS has_other_grade,
        now.outcome IN ('accepted', 'rejected') AND before.outcome IN ('accepted', 'rejected') AS are_answers
    FROM now FULL JOIN before USING (item_id)
    LEFT JOIN erased ON erased.proof_id = before.proof_id AND before.outcome = 'accepted'
),
changed AS (
    SELECT *, CASE
        WHEN before IS NULL THEN 'new'
        WHEN now IS NULL THEN 'gone'
        WHEN before = 'accepted' AND now <> 'accepted' THEN 'broken'
        WHEN before <> 'accepted' AND now = 'accepted' THEN 'fixed'
        WHEN before <> now OR before_reason IS DISTINCT FROM now_reason
            OR has_other_audio OR has_other_sidecar OR is_moved
            OR (are_answers AND NOT has_other_rubric AND (has_other_class OR has_other_grade)) THEN 'changed'
        ELSE 'same'
    END AS change
    FROM pairs
    WHERE now IS NOT NULL OR (
        item_id IN (SELECT item_id FROM whole_items) AND item_id NOT IN (SELECT item_id FROM planned_items)
    )
)
SELECT *, CASE
    WHEN change = 'same' THEN ''
    WHEN change = 'new' THEN 'first seen'
    WHEN change = 'gone' THEN 'not in the catalog any more'
    WHEN now = 'failed' THEN 'no answer now'
    WHEN has_other_audio THEN 'audio changed'
    WHEN has_other_sidecar THEN 'sidecar changed'
    WHEN now = 'ineligible' OR before = 'ineligible' THEN 'file or catalog changed'
    WHEN before = 'failed' THEN 'no answer before'
    WHEN is_erased AND before_reason IS DISTINCT FROM now_reason THEN 'erased by us'
    WHEN is_moved THEN 'moved'
    WHEN has_other_service THEN 'service deployment changed'
    ELSE 'same file, other answer'
END AS cause
FROM changed
"""  # noqa: S608 - all of it is our own text
