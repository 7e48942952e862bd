"""The SQL that compares two sides of a diff. Text alone."""

_ROWS = """
    item_id VARCHAR, audio VARCHAR, audio_sha256 VARCHAR, sidecar_sha256 VARCHAR, outcome VARCHAR, reason VARCHAR,
    classification VARCHAR, grade_json VARCHAR, grade_rubric_version VARCHAR, run_id VARCHAR, finished_at TIMESTAMPTZ,
    manifest_row BIGINT
"""

TABLES = f"""
CREATE TABLE now_rows ({_ROWS});
CREATE TABLE before_rows ({_ROWS});
CREATE TABLE whole_items (item_id VARCHAR);
CREATE TABLE planned_items (item_id VARCHAR);
CREATE TABLE services (run_id VARCHAR, service_commit VARCHAR);
CREATE TABLE open_items (item_id VARCHAR);
"""

OPEN_ITEMS = """
INSERT INTO open_items SELECT item_id FROM now_rows UNION SELECT item_id FROM whole_items;
"""

CLOSE_ANSWERED = """
DELETE FROM open_items WHERE item_id IN (
    SELECT item_id FROM before_rows WHERE outcome IN ('accepted', 'rejected')
);
"""

# Of several rows of an item the newest answer counts, else the newest row: a night without an answer hides no verdict.
_ONE_OF_EACH = """
    SELECT * FROM {side}_rows LEFT JOIN services USING (run_id)
    QUALIFY row_number() OVER (
        PARTITION BY item_id
        ORDER BY outcome IN ('accepted', 'rejected') DESC, run_id DESC, finished_at DESC, manifest_row DESC
    ) = 1
"""

CHANGES = f"""
CREATE TABLE changes AS
WITH now AS ({_ONE_OF_EACH.format(side="now")}),
before AS ({_ONE_OF_EACH.format(side="before")}),
pairs AS (
    SELECT
        coalesce(now.item_id, before.item_id) AS item_id,
        coalesce(now.audio, before.audio) AS audio,
        before.outcome AS before, before.reason AS before_reason, before.run_id AS before_run,
        now.outcome AS now, now.reason AS now_reason, now.run_id AS now_run,
        now.audio_sha256 <> before.audio_sha256 AS has_other_audio,
        coalesce(now.sidecar_sha256 <> before.sidecar_sha256, false) AS has_other_sidecar,
        now.audio <> before.audio AS is_moved,
        coalesce(now.grade_rubric_version <> before.grade_rubric_version, false) AS has_other_rubric,
        coalesce(now.service_commit <> before.service_commit, false) AS has_other_service,
        now.classification IS DISTINCT FROM before.classification AS has_other_class,
        now.grade_json IS DISTINCT FROM before.grade_json AS has_other_grade,
        now.outcome IN ('accepted', 'rejected') AND before.outcome IN ('accepted', 'rejected') AS are_answers
    FROM now FULL JOIN before USING (item_id)
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
    WHEN is_moved AND before = now AND before_reason IS NOT DISTINCT FROM now_reason THEN 'moved'
    WHEN has_other_rubric THEN 'rubric changed'
    WHEN has_other_service THEN 'service deployment changed'
    ELSE 'same file, other answer'
END AS cause
FROM changed
"""  # noqa: S608 - all of it is our own text
