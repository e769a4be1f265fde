-- Earlier versions stored an externalId with characters at its ends that render as nothing. A look-up by the same text without
-- them reads these few only.
CREATE INDEX client_external_id_older ON client (company_id, created_at) WHERE
    ascii(external_id) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
    OR ascii(external_id) BETWEEN 6155 AND 6159
    OR ascii(external_id) BETWEEN 8203 AND 8207
    OR ascii(external_id) BETWEEN 8234 AND 8238
    OR ascii(external_id) BETWEEN 8288 AND 8303
    OR ascii(external_id) BETWEEN 65024 AND 65039
    OR ascii(external_id) BETWEEN 65520 AND 65532
    OR ascii(external_id) BETWEEN 113824 AND 113827
    OR ascii(external_id) BETWEEN 119155 AND 119162
    OR ascii(external_id) BETWEEN 917504 AND 921599
    OR ascii("right"(external_id, 1)) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
    OR ascii("right"(external_id, 1)) BETWEEN 6155 AND 6159
    OR ascii("right"(external_id, 1)) BETWEEN 8203 AND 8207
    OR ascii("right"(external_id, 1)) BETWEEN 8234 AND 8238
    OR ascii("right"(external_id, 1)) BETWEEN 8288 AND 8303
    OR ascii("right"(external_id, 1)) BETWEEN 65024 AND 65039
    OR ascii("right"(external_id, 1)) BETWEEN 65520 AND 65532
    OR ascii("right"(external_id, 1)) BETWEEN 113824 AND 113827
    OR ascii("right"(external_id, 1)) BETWEEN 119155 AND 119162
    OR ascii("right"(external_id, 1)) BETWEEN 917504 AND 921599;

-- Searches leave out what renders as nothing.
UPDATE client SET search = regexp_replace(search, '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u2800\u3164\uFEFF\uFFA0\U0001D159\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFFF0-\uFFFC\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]', '', 'g')
WHERE search ~ '[\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u2800\u3164\uFEFF\uFFA0\U0001D159\u180B-\u180F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFE00-\uFE0F\uFFF0-\uFFFC\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0000-\U000E0FFF]';
