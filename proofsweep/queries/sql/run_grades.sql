-- The files of a run by the tenths of each grade.
SELECT grade, least(floor(value * 10), 9) / 10 AS tenth, count(*) AS files
FROM (
    UNPIVOT (SELECT grade_human AS human, grade_ai AS ai, grade_unknown AS unknown FROM verdicts)
    ON human, ai, unknown INTO NAME grade VALUE value
)
WHERE value BETWEEN 0 AND 1 GROUP BY ALL ORDER BY ALL
