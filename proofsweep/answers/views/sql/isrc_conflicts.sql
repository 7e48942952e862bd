-- One row for each two files of one ISRC that two releases have with other audio, in the same format by their names. It
-- only reports: two masters may be meant. ISRCs and releases are those of the tags.
WITH spelled AS (  -- a manifest may write the tag in capitals
    SELECT
        environment, item_id, file, audio_sha256, lower(regexp_extract(file, '[.][^./]*$')) AS ending,
        regexp_replace(
            upper(coalesce(tags->>'isrc', tags->>'ISRC', tags->>'Isrc')), '[^0-9A-Z]', '', 'g'
        ) AS same_isrc,
        coalesce(tags->>'release', tags->>'icpn', tags->>'ICPN', tags->>'upc', tags->>'UPC') AS of_release
    FROM catalog
    WHERE tags IS NOT NULL AND audio_sha256 IS NOT NULL AND state NOT IN ('gone', 'moved')
),
masters AS MATERIALIZED (
    SELECT
        environment, same_isrc, ending, of_release, audio_sha256, min(file) AS file,
        arg_min(item_id, file) AS item_id
    FROM spelled
    WHERE same_isrc <> '' AND of_release <> ''
    GROUP BY ALL
)
SELECT
    first_one.environment, first_one.same_isrc, first_one.of_release AS first_release, second_one.of_release AS second_release,
    first_one.file AS first_file, second_one.file AS second_file, first_one.item_id AS first_item,
    second_one.item_id AS second_item, first_one.audio_sha256 AS first_sha256, second_one.audio_sha256 AS second_sha256
FROM masters AS first_one
JOIN masters AS second_one
    ON (first_one.environment, first_one.same_isrc, first_one.ending)
    = (second_one.environment, second_one.same_isrc, second_one.ending)
    AND first_one.of_release < second_one.of_release AND first_one.audio_sha256 <> second_one.audio_sha256
