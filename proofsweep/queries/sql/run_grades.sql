-- The files of a run by the values of each grade: tenths from 0 to 1, or round steps from 0 over a wider range.
WITH grades AS (
    FROM (
        UNPIVOT (SELECT grade_human AS human, grade_ai AS ai, grade_unknown AS unknown FROM run_rows)
        ON human, ai, unknown INTO NAME grade VALUE value
    )
    WHERE isfinite(value)
),
tenth AS (
    SELECT min(value) >= 0 AND max(value) <= 1 AS is_share, (greatest(max(value), 0) - least(min(value), 0)) / 10 AS width
    FROM grades
),
steps AS (
    SELECT CASE WHEN is_share THEN 0.1::DOUBLE ELSE list_min(list_filter(
        list_transform([1, 2, 5, 10], lambda each: each * 10 ** floor(log10(width))), lambda each: each >= width
    )) END AS step
    FROM tenth
)
SELECT
    grade, CASE WHEN step = 0.1 AND value = 1 THEN 9 ELSE floor(value / step) END::BIGINT AS place, step,
    count(*) AS files
FROM grades, steps GROUP BY ALL ORDER BY ALL
