-- Earlier versions stored an externalId with characters at its ends that render as nothing. A look-up by the same text without
-- them reads these few only.
CREATE INDEX client_external_id_older ON client (company_id, created_at) WHERE
    unicode(external_id) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
    OR unicode(external_id) BETWEEN 6155 AND 6159
    OR unicode(external_id) BETWEEN 8203 AND 8207
    OR unicode(external_id) BETWEEN 8234 AND 8238
    OR unicode(external_id) BETWEEN 8288 AND 8303
    OR unicode(external_id) BETWEEN 65024 AND 65039
    OR unicode(external_id) BETWEEN 65520 AND 65532
    OR unicode(external_id) BETWEEN 113824 AND 113827
    OR unicode(external_id) BETWEEN 119155 AND 119162
    OR unicode(external_id) BETWEEN 917504 AND 921599
    OR unicode(substr(external_id, -1)) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
    OR unicode(substr(external_id, -1)) BETWEEN 6155 AND 6159
    OR unicode(substr(external_id, -1)) BETWEEN 8203 AND 8207
    OR unicode(substr(external_id, -1)) BETWEEN 8234 AND 8238
    OR unicode(substr(external_id, -1)) BETWEEN 8288 AND 8303
    OR unicode(substr(external_id, -1)) BETWEEN 65024 AND 65039
    OR unicode(substr(external_id, -1)) BETWEEN 65520 AND 65532
    OR unicode(substr(external_id, -1)) BETWEEN 113824 AND 113827
    OR unicode(substr(external_id, -1)) BETWEEN 119155 AND 119162
    OR unicode(substr(external_id, -1)) BETWEEN 917504 AND 921599;

-- Searches leave out what renders as nothing.
UPDATE client SET search = (
    WITH RECURSIVE visible(place, text) AS (
        SELECT 0, ''
        UNION ALL
        SELECT place + 1, text || CASE
            WHEN unicode(substr(search, place + 1, 1)) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
                OR unicode(substr(search, place + 1, 1)) BETWEEN 6155 AND 6159
                OR unicode(substr(search, place + 1, 1)) BETWEEN 8203 AND 8207
                OR unicode(substr(search, place + 1, 1)) BETWEEN 8234 AND 8238
                OR unicode(substr(search, place + 1, 1)) BETWEEN 8288 AND 8303
                OR unicode(substr(search, place + 1, 1)) BETWEEN 65024 AND 65039
                OR unicode(substr(search, place + 1, 1)) BETWEEN 65520 AND 65532
                OR unicode(substr(search, place + 1, 1)) BETWEEN 113824 AND 113827
                OR unicode(substr(search, place + 1, 1)) BETWEEN 119155 AND 119162
                OR unicode(substr(search, place + 1, 1)) BETWEEN 917504 AND 921599
            THEN '' ELSE substr(search, place + 1, 1) END
        FROM visible WHERE place < length(search)
    )
    SELECT text FROM visible ORDER BY place DESC LIMIT 1
)
WHERE search GLOB '*[' || char(173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
        || char(6155) || '-' || char(6159)
        || char(8203) || '-' || char(8207)
        || char(8234) || '-' || char(8238)
        || char(8288) || '-' || char(8303)
        || char(65024) || '-' || char(65039)
        || char(65520) || '-' || char(65532)
        || char(113824) || '-' || char(113827)
        || char(119155) || '-' || char(119162)
        || char(917504) || '-' || char(921599) || ']*';
