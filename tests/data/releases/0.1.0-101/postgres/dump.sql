--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: api_key; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.api_key (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    hash bytea NOT NULL,
    last4 text NOT NULL,
    label text NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    revoked_at bigint,
    accepted bigint[] DEFAULT '{}'::bigint[] NOT NULL
)
WITH (fillfactor='50');


--
-- Name: attempt; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.attempt (
    company_id uuid NOT NULL,
    at bigint NOT NULL,
    event_id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    number bigint NOT NULL,
    duration_ms bigint NOT NULL,
    status bigint,
    failure text
);


--
-- Name: client; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.client (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    external_id text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    search text NOT NULL COLLATE pg_catalog."C",
    record text NOT NULL
);


--
-- Name: commit_status; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.commit_status (
    id uuid NOT NULL,
    at bigint NOT NULL,
    given_up boolean NOT NULL
);


--
-- Name: company; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.company (
    id uuid NOT NULL,
    last_stamp bigint NOT NULL,
    record text NOT NULL
)
WITH (fillfactor='50');


--
-- Name: delivery; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.delivery (
    company_id uuid NOT NULL,
    event_id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    id bigint NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    reason text,
    due_at bigint NOT NULL,
    held_until bigint DEFAULT 0 NOT NULL,
    claim bigint NOT NULL,
    claims bigint NOT NULL,
    attempts bigint NOT NULL,
    claims_in_all bigint NOT NULL,
    attempts_in_all bigint NOT NULL,
    ended_at bigint
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='10000');


--
-- Name: delivery_id_block; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.delivery_id_block
    START WITH 1
    INCREMENT BY 1024
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: document; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.document (
    company_id uuid NOT NULL,
    quote_id uuid NOT NULL,
    number bigint NOT NULL,
    upload_id uuid NOT NULL,
    sha256 text NOT NULL COLLATE pg_catalog."C",
    size_bytes bigint NOT NULL,
    file_name text NOT NULL,
    created_at bigint NOT NULL,
    particulars text NOT NULL
);


--
-- Name: event; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.event (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    "timestamp" bigint NOT NULL,
    body text NOT NULL
);


--
-- Name: invoice; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.invoice (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    quote_id uuid NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    due_date date,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    summary text NOT NULL,
    lines text NOT NULL,
    detail text NOT NULL
);


--
-- Name: invoicing_migration; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.invoicing_migration (
    version bigint NOT NULL
);


--
-- Name: payment; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.payment (
    company_id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    id uuid NOT NULL,
    reference text COLLATE pg_catalog."C",
    reversed_at bigint,
    record text NOT NULL
);


--
-- Name: project; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.project (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    record text NOT NULL
);


--
-- Name: proof; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.proof (
    company_id uuid NOT NULL,
    quote_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    ip text,
    user_agent text,
    document_sha256 text NOT NULL,
    fingerprint text NOT NULL,
    signed_at bigint NOT NULL
);


--
-- Name: quote; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.quote (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    valid_until date,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    summary text NOT NULL,
    lines text NOT NULL,
    detail text NOT NULL,
    work_site text
);


--
-- Name: quote_costing; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.quote_costing (
    company_id uuid NOT NULL,
    quote_id uuid NOT NULL,
    costings text NOT NULL
);


--
-- Name: series; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.series (
    company_id uuid NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    year bigint NOT NULL,
    last bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: setting; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.setting (
    name text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL
);


--
-- Name: signing_link; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.signing_link (
    company_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    quote_id uuid NOT NULL,
    created_at bigint NOT NULL
);


--
-- Name: upload; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.upload (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    began_at bigint NOT NULL,
    abandoned_at bigint
);


--
-- Name: webhook; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook (
    company_id uuid NOT NULL,
    id uuid NOT NULL,
    url text NOT NULL,
    kinds bigint NOT NULL,
    secret text NOT NULL,
    failures bigint NOT NULL,
    disabled_at bigint,
    disabled_reason text,
    created_at bigint NOT NULL,
    removed_at bigint,
    sealed_with text GENERATED ALWAYS AS (
CASE
    WHEN (substr(secret, 1, 3) = 'v1.'::text) THEN split_part(secret, '.'::text, 2)
    ELSE NULL::text
END) STORED COLLATE pg_catalog."C"
)
WITH (fillfactor='50');


--
-- Data for Name: api_key; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.api_key VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7007-9121-7b6635a2f94a', '\x3f62a799904524fb454abcd4d3d5ff8b98141569d5e801f4ea28cc2004667112', 'mUhc', 'Idle', 1772439330250, NULL, 1780474530250, '{}');
INSERT INTO public.api_key VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-70ad-b016-8295f6ad3b67', '\xf5614b0bd7987e9eb6e1698520757091052c815e2a8b4277d8a354306519a650', 'm0t4', 'Revoked', 1780474530250, NULL, 1780474530250, '{}');
INSERT INTO public.api_key VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7005-9f42-2bed6bdfb356', '\xed073b84eddd7f95733707a43880e7723533634bc13ff56e81d3adf119e87219', 'hBJ8', 'CRM', 1772439330250, 1780474530250, NULL, '{}');


--
-- Data for Name: attempt; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a04-7001-910c-eb948d8eaacf', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 0, 200, NULL);
INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a06-7001-8e2d-bc17b4b3edb4', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 0, 410, NULL);
INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a08-7001-98d7-edb168cc8003', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 0, 200, NULL);
INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a0a-7001-be91-4e4a8f606806', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 1, 200, NULL);
INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a0d-7001-9315-84b9b9465739', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 0, 200, NULL);
INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a0b-7001-a75b-c559a23925e3', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 1, 200, NULL);
INSERT INTO public.attempt VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530250, '019e8c8d-4a0f-7001-894b-1aacdaccf03d', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 1, 0, 503, NULL);


--
-- Data for Name: client; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.client VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-700a-8d61-d21be3e55101', NULL, 1772439330251, 1772439330251, 'durand', '{"id":"019cad9d-ddca-700a-8d61-d21be3e55101","name":"Durand","email":null,"phone":null,"address":null,"city":null,"zipCode":null,"type":null,"notes":null,"externalId":null,"createdAt":"2026-03-02T08:15:30.251Z","updatedAt":"2026-03-02T08:15:30.251Z"}');
INSERT INTO public.client VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-700c-bdf1-17d4c0a0759d', NULL, 1772439330252, 1772439330253, 'after', '{"id":"019cad9d-ddca-700c-bdf1-17d4c0a0759d","name":"After","email":null,"phone":null,"address":null,"city":null,"zipCode":null,"type":null,"notes":null,"externalId":null,"createdAt":"2026-03-02T08:15:30.252Z","updatedAt":"2026-03-02T08:15:30.253Z"}');
INSERT INTO public.client VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8', 'crm-1', 1772439330254, 1772439330254, 'zoe lefevre
zoe@exemple.fr
saint-etienne', '{"id":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","name":"Zoé Lefèvre","email":"zoe@exemple.fr","phone":"06 00 00 00 00","address":"3 quai de la Saône","city":"Saint-Étienne","zipCode":"42000","type":null,"notes":"Interphone B","externalId":"crm-1","createdAt":"2026-03-02T08:15:30.254Z","updatedAt":"2026-03-02T08:15:30.254Z"}');
INSERT INTO public.client VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49ca-70b3-a4db-8fd241f143fe', NULL, 1780474530251, 1780474530251, 'petit', '{"id":"019e8c8d-49ca-70b3-a4db-8fd241f143fe","name":"Petit","email":null,"phone":null,"address":null,"city":null,"zipCode":null,"type":null,"notes":null,"externalId":null,"createdAt":"2026-06-03T08:15:30.251Z","updatedAt":"2026-06-03T08:15:30.251Z"}');


--
-- Data for Name: commit_status; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.commit_status VALUES ('01a2089c-47af-7000-beb3-855453d71a6b', 1795440789423, false);
INSERT INTO public.commit_status VALUES ('01a2089c-47b1-7000-8fc0-06d5cb5e1fd4', 1795440789425, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7000-b889-a1508ef68048', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7001-afab-144d1b50eaa7', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7002-b412-d64ddbc6ba93', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7003-a4b4-fd3e7964112a', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7004-97fe-aeccbde38530', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7005-930f-efa8f384dd06', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7007-ada1-f6b1eed75789', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7009-b2c8-0a034884e796', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-700a-9b8c-ed7d629c5e22', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-700b-a19c-fa26ec739df9', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-700e-b004-99bcf9394d0a', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-700f-aa06-b1e7973837ea', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7010-a23b-f8b0ac00a2f0', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7011-860a-9d774575a34b', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7013-b370-80533eaba867', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7014-b907-68c5cf3c5c7c', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7015-89eb-edc87e924adb', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7018-a78e-87100164682e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7019-b6dd-0515a8435e9f', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-701a-9df5-c0d375b2f0ce', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-701d-84d9-ece042b20993', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-701e-8e4a-39186377025e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-701f-b946-8d44592fbb9d', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7021-a134-1b5eae2f5984', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7022-8eb3-b8056da42762', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7023-9659-207e84449f85', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7026-bb50-3ce73fc92160', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7027-be99-3617d23c0de1', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7028-aeff-012177ffbcae', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7029-b75e-d7880b452961', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-702c-a849-20ec8289c7e2', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-702d-ac03-2c9a54e4481e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-702e-ae00-6443e16186a8', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7030-b558-ea8c87f9df9c', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7033-852d-dbb9e0e47967', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7034-bc5f-947d467e8c41', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7035-93de-9c0dfa0363c3', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7037-a8bf-cf9d38885446', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7038-bb82-8b6628eed22d', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-703b-a77c-5a44247bead8', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-703c-a1ec-daa131f23ffb', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-703d-887e-bffceadcecc6', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-703f-8509-b66fc1872b7d', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7040-b818-00acd2f92448', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7042-acfe-719447c24adc', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7045-8725-1d5d3acba24e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7046-bb03-7fdd4cefb0c2', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7047-86d4-feeb02721a8b', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7049-a96e-4fea54085934', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-704a-a3f5-8242545e6805', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-704c-a968-6b535a08fcb0', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-704f-8f00-9c3baf03316b', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7050-b583-40730a8b8f5f', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7051-8b05-c15ef98a8f09', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7053-954c-423904e3b208', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7054-9997-3823e4140984', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7056-9cdc-725ecf473354', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7059-a449-eb40c170178f', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-705a-a902-807f0828f4f6', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-705b-bbb6-abb33897cf5c', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-705d-9409-39c8107a5840', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-705e-8696-616070dbed47', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7060-b06c-2cab8ffef2ed', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7063-94f8-b8d1c69c6f18', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7064-8daa-4acc4cea0eac', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7065-90b2-67227edac6b7', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7067-ac7f-01c005524d16', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7068-b4bd-03823a0c6ea0', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-706a-ba92-7c0624a457ef', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-706b-840e-68e43d0819cc', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-706e-9b04-be5f1d580bce', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-706f-a40a-1e6cbe31d12b', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7070-b244-ebbcc2a0d2ad', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7072-a9d8-1b04df2e91f9', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7073-be6a-02739b037aea', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7074-b690-6c8db8f074ee', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7076-8275-c60206f7ec98', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7077-b20a-f69b8978a8d3', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7079-8633-5b1165aac12b', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-707a-b3ea-43e9f5a199e0', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-707c-b50e-e1b4cbb9b141', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-707d-9f7f-a0a20108e605', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-707f-bc0f-0009cd0c8c4b', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7081-ad47-6513c101dd1e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7082-a625-18c85b058d88', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7083-8933-9da3bc96030d', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7084-9505-7e8d98ce26d4', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7085-9ba4-618303709748', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7087-839a-8c6fa01a4c02', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7088-80f4-273b2dc75f69', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7089-b466-373ae0409628', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-708a-99e5-943edd583e35', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-708b-9919-f0d049c248a0', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-708d-9ee6-0df385879389', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-708e-b646-865f653ad316', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-708f-9ce1-00e56ece6ce5', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7090-929a-99c71d0258bd', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7091-b477-420aa8ff07ef', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7093-b34d-3691b95423e3', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7094-9fa6-5e704a0ff17e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7096-8d7f-2074c05d8fe4', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7097-9835-9319f0ac2905', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7098-b709-7ccbe79082ea', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-7099-82d3-a8ae99d5cba5', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-709a-bd7d-b9512b7d42fd', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-709b-9f80-7311c0fe8408', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-709d-b08f-fd736a37fd45', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-709e-989b-56c4f4295403', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a4-ae4f-3bc3ae12f312', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70ac-81ca-2669e81a426e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-709f-9aea-282ff42ad1ea', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a5-a83f-85e1c26e862e', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a0-907c-e9a0d772d491', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a6-9caf-cb9db912a723', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70af-8f9c-9426ac6b680c', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70b8-8982-75867d1c8272', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a1-94cf-63dbefbc9fd8', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a7-b0ea-7e926ad2db34', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a3-8f7e-94b5873eafdc', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70a9-bbc7-a8939cd94f1a', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70b1-a587-808defc10c43', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70ab-a43b-d2073c8af963', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70b4-85f2-169013efb0af', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70ae-8b01-4bd74cb7938f', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70b7-845e-e3e1a35e3e3c', 1780474530250, false);
INSERT INTO public.commit_status VALUES ('019e8c8d-49ca-70b2-a333-71b559405836', 1780474530250, false);


--
-- Data for Name: company; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.company VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', 1780474530253, '{"id":"019e8c8d-49ca-70b0-8b44-960dd39d542c","name":"Durand Plomberie","plan":"Pro","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":true,"identity":{"address":null,"email":null,"phone":null,"siret":null,"vatNumber":null,"insurance":null,"terms":null},"createdAt":"2026-06-03T08:15:30.250Z"}');
INSERT INTO public.company VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 1780474530321, '{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"}');


--
-- Data for Name: delivery; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a04-7001-910c-eb948d8eaacf', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 114689, 'delivered', NULL, 1780474530250, 0, 0, 1, 1, 1, 1, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a06-7001-8e2d-bc17b4b3edb4', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 119809, 'failed', NULL, 1780474530250, 0, 0, 1, 1, 1, 1, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a08-7001-98d7-edb168cc8003', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 124929, 'delivered', NULL, 1780474530250, 0, 0, 1, 1, 1, 1, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0a-7001-be91-4e4a8f606806', '019e8c8d-49ca-7092-8c9b-0065f96efbb6', 132098, 'skipped', 'webhook_disabled', 1780474530250, 0, 0, 0, 0, 0, 0, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0a-7001-be91-4e4a8f606806', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 132097, 'delivered', NULL, 1780474530250, 0, 0, 1, 1, 1, 1, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0d-7001-9315-84b9b9465739', '019e8c8d-49ca-7092-8c9b-0065f96efbb6', 138242, 'skipped', 'webhook_disabled', 1780474530250, 0, 0, 0, 0, 0, 0, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0b-7001-a75b-c559a23925e3', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 136193, 'delivered', NULL, 1780474530250, 0, 0, 1, 1, 1, 1, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0d-7001-9315-84b9b9465739', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 138241, 'delivered', NULL, 1780474530250, 0, 0, 1, 1, 1, 1, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0f-7001-894b-1aacdaccf03d', '019e8c8d-49ca-7092-8c9b-0065f96efbb6', 143362, 'skipped', 'webhook_disabled', 1780474530250, 0, 0, 0, 0, 0, 0, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0f-7001-894b-1aacdaccf03d', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 143361, 'pending', NULL, 1780474531325, 0, 0, 1, 1, 1, 1, NULL);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a11-7001-9477-1a814882a228', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 149505, 'pending', NULL, 1780474530250, 0, 0, 0, 0, 0, 0, NULL);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a11-7001-9477-1a814882a228', '019e8c8d-49ca-7092-8c9b-0065f96efbb6', 149506, 'skipped', 'webhook_disabled', 1780474530250, 0, 0, 0, 0, 0, 0, 1780474530250);
INSERT INTO public.delivery VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a11-7001-9477-1a814882a228', '019e8c8d-49ca-70a8-9bac-08c669406f81', 149507, 'skipped', 'webhook_removed', 1780474530250, 0, 0, 0, 0, 0, 0, 1780474530250);


--
-- Data for Name: document; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7011-9472-7b852685b0f6', 1, '019cad9d-ddca-7012-b7a4-0231c4b66708', 'c4df1fdabef7b5444dc37caf54ff7d61e8b11275fa498130472f1819d7e8a631', 37, 'DEV-2026-0001.pdf', 1772439330256, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-03-02"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7016-9bb2-d3ce1db48cb1', 1, '019cad9d-ddca-7017-9283-c649473cc944', 'b8c8e2d5ae5731370f06480311e56c99b2aaee2f6fc0e759a867983b22115c5c', 37, 'DEV-2026-0002.pdf', 1772439330258, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-03-02"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-700c-ad09-f80816bce761', 1, '019e8c8d-49ca-700d-9e28-8b61fde5106c', 'ac2839f6f099c68ee6fea733ab59c5c585c880478b4d05aefd6dfe116403c71e', 37, 'DEV-2026-0005.pdf', 1780474530254, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-700c-ad09-f80816bce761', 2, '019e8c8d-49ca-7012-b28e-0ec8ff0b58e9', 'ac2839f6f099c68ee6fea733ab59c5c585c880478b4d05aefd6dfe116403c71e', 37, 'DEV-2026-0005.pdf', 1780474530256, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7016-81d3-c6502bb669ad', 1, '019e8c8d-49ca-7017-a8b0-343f4190c475', 'd6199b74e5eae8683c7ca258da78fb045dcf3d76069a3c8f1f41e4b2bd3b6c5b', 37, 'DEV-2026-0006.pdf', 1780474530258, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":"Quai Rambaud\n69002 Lyon","issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-701b-8115-3b4b03b6632c', 1, '019e8c8d-49ca-701c-b531-663219e6e57c', '50705a27f18a3be81d58f71f3bbcd944f6e51b68686b8cd9c5740810e28f22c7', 37, 'DEV-2026-0007.pdf', 1780474530260, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-701b-8115-3b4b03b6632c', 2, '019e8c8d-49ca-7020-b5d0-a5d131b739c1', '47a8159098f6dda6c4840052d41426c6b8248d10a0fafe6e2fecf54454dc104d', 45, 'DEV-2026-0007.pdf', 1780474530261, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7024-ade3-dabc1d3de768', 1, '019e8c8d-49ca-7025-b0ad-d7ca15672e51', '8cf590e365a30e65e0c615579e575e989df36e8a0427bc931eeaf0dd660f4139', 37, 'DEV-2026-0008.pdf', 1780474530263, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-702a-9021-b6d4355511be', 1, '019e8c8d-49ca-702b-b0e5-089a479cad82', 'a3c35ddf9d925f95efd91a59fd23c1e7b13fe2c590dbf9bfc7660aec38755aa8', 37, 'DEV-2026-0009.pdf', 1780474530265, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7031-a608-96104b3a99b6', 1, '019e8c8d-49ca-7032-b609-0e769a37ecdf', 'd5e4d2cd543feb26622170ce5f79e5f43421f1dbb5531476c464967ae8026787', 37, 'DEV-2026-0010.pdf', 1780474530268, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7039-8071-b281bb8a5ea5', 1, '019e8c8d-49ca-703a-a1a9-96d968f74ea1', 'fad4f4e00725dd74c876c5fbd8ef9eff85576767a2eb8c6a26442822c3771264', 37, 'DEV-2026-0011.pdf', 1780474530272, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7043-b902-932b85c1d409', 1, '019e8c8d-49ca-7044-8b2e-8262169b705e', '2e418bac74b97be338557964ed088c8cfbb67ad2cecd4c056c7ecad0fb364ab9', 37, 'DEV-2026-0012.pdf', 1780474530277, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-704d-ab7f-d5f680c3f436', 1, '019e8c8d-49ca-704e-b493-29302e87a28f', '9368bf519d3d6639aa5052f742d99608b28b1d51492b886a05eb1843b8994ab6', 37, 'DEV-2026-0013.pdf', 1780474530282, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7057-9bfb-d59985b59c95', 1, '019e8c8d-49ca-7058-8172-4b9b2f4633d2', '9958f2d40377a960d65d790e92b3b04a5d14cc36a0f65b6dde3d0108f43e1a0b', 37, 'DEV-2026-0014.pdf', 1780474530287, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7061-816b-a43f20f85fa4', 1, '019e8c8d-49ca-7062-9413-2f6c7260fdcf', '27acaa40acc1af8b5ded6ca120a454da17eb2802c3a78423b6b219756a966be0', 37, 'DEV-2026-0015.pdf', 1780474530292, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-706c-a29c-1d36822f1d40', 1, '019e8c8d-49ca-706d-9c62-0f5bbc8e7581', 'e36fdf49cab546e7671b995592f14f1c7d52def6e103bec8ebd8a00352ceac3b', 37, 'DEV-2026-0016.pdf', 1780474530298, '{"company":{"id":"019cad9d-ddca-7003-a978-dafb93a2b004","name":"Martin Peinture","plan":"Team","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":false,"identity":{"address":"12 rue des Lilas\n69003 Lyon","email":"contact@exemple.fr","phone":"04 00 00 00 00","siret":"73282932000074","vatNumber":"FR40732829320","insurance":"Assureur, police 1","terms":"Paiement à 30 jours"},"createdAt":"2026-03-02T08:15:30.250Z"},"clientAddress":"3 quai de la Saône","workSite":null,"issuedOn":"2026-06-03"}');
INSERT INTO public.document VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49ca-70b5-a985-87f347bfe3ae', 1, '019e8c8d-49ca-70b6-a513-11d99b621a3a', 'b6e7f77befb818d02ba0bc9d11225aac2603df45a32e1eb6ca655d0e682a9369', 37, 'DEV-2026-0001.pdf', 1780474530253, '{"company":{"id":"019e8c8d-49ca-70b0-8b44-960dd39d542c","name":"Durand Plomberie","plan":"Pro","timeZone":"Europe/Paris","currency":"EUR","automaticInvoicing":true,"identity":{"address":null,"email":null,"phone":null,"siret":null,"vatNumber":null,"insurance":null,"terms":null},"createdAt":"2026-06-03T08:15:30.250Z"},"clientAddress":null,"workSite":null,"issuedOn":"2026-06-03"}');


--
-- Data for Name: event; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddcf-7001-8fb2-8e0e991973bf', 'quote.created', 1772439330255, '{"event":"quote.created","timestamp":"2026-03-02T08:15:30.255Z","data":{"id":"019cad9d-ddca-7011-9472-7b852685b0f6","number":"DEV-2026-0001","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddd1-7001-b155-c66ae433375a', 'quote.created', 1772439330257, '{"event":"quote.created","timestamp":"2026-03-02T08:15:30.257Z","data":{"id":"019cad9d-ddca-7016-9bb2-d3ce1db48cb1","number":"DEV-2026-0002","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddd2-7001-949d-bff4c419ab00', 'quote.accepted', 1772439330258, '{"event":"quote.accepted","timestamp":"2026-03-02T08:15:30.258Z","data":{"id":"019cad9d-ddca-7016-9bb2-d3ce1db48cb1","number":"DEV-2026-0002","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-03-02T08:15:30.258Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddd3-7001-8daf-2592db0069d6', 'invoice.created', 1772439330259, '{"event":"invoice.created","timestamp":"2026-03-02T08:15:30.259Z","data":{"id":"019cad9d-ddca-701b-afdd-2776d1d19636","number":null,"status":"DRAFT","quoteId":"019cad9d-ddca-7016-9bb2-d3ce1db48cb1","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7001-b9b3-d1abb11dd7cf', 'quote.created', 1780474530250, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.250Z","data":{"id":"019e8c8d-49ca-7006-bcc6-cbaa299e2dd7","number":"DEV-2026-0003","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":0,"totalTTC":0,"tvaRate":0}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49cb-7001-8c04-aaa5311bdbaf', 'quote.created', 1780474530251, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.251Z","data":{"id":"019e8c8d-49ca-7008-a567-7f692d09a6d3","number":"DEV-2026-0004","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49cd-7001-87f0-d1fb42d2e584', 'quote.created', 1780474530253, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.253Z","data":{"id":"019e8c8d-49ca-700c-ad09-f80816bce761","number":"DEV-2026-0005","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d2-7001-b009-c90b3cbb0d07', 'quote.created', 1780474530258, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.258Z","data":{"id":"019e8c8d-49ca-7016-81d3-c6502bb669ad","number":"DEV-2026-0006","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.258Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d3-7001-93ad-a8b897204b6c', 'quote.created', 1780474530259, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.259Z","data":{"id":"019e8c8d-49ca-701b-8115-3b4b03b6632c","number":"DEV-2026-0007","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d5-7001-9beb-fb50049508b2', 'quote.signed', 1780474530261, '{"event":"quote.signed","timestamp":"2026-06-03T08:15:30.261Z","data":{"id":"019e8c8d-49ca-701b-8115-3b4b03b6632c","number":"DEV-2026-0007","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"signedAt":"2026-06-03T08:15:30.250Z","acceptedAt":"2026-06-03T08:15:30.250Z","signedByName":"Zoé Lefèvre","signedByEmail":"zoe@exemple.fr"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d5-7002-b728-6972c4378bbc', 'quote.accepted', 1780474530261, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.261Z","data":{"id":"019e8c8d-49ca-701b-8115-3b4b03b6632c","number":"DEV-2026-0007","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"signedAt":"2026-06-03T08:15:30.250Z","acceptedAt":"2026-06-03T08:15:30.250Z","signedByName":"Zoé Lefèvre","signedByEmail":"zoe@exemple.fr"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d6-7001-93c3-8a56d4ea334e', 'quote.created', 1780474530262, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.262Z","data":{"id":"019e8c8d-49ca-7024-ade3-dabc1d3de768","number":"DEV-2026-0008","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d8-7001-9f5c-d4828c3b99ac', 'quote.created', 1780474530264, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.264Z","data":{"id":"019e8c8d-49ca-702a-9021-b6d4355511be","number":"DEV-2026-0009","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49d9-7001-81bf-7b3fae7fa111', 'quote.accepted', 1780474530265, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.265Z","data":{"id":"019e8c8d-49ca-702a-9021-b6d4355511be","number":"DEV-2026-0009","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.265Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49da-7001-aafa-997b226c535e', 'invoice.created', 1780474530266, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.266Z","data":{"id":"019e8c8d-49ca-702f-a261-9dbcf5bf469b","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-702a-9021-b6d4355511be","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49db-7001-a97c-98d704c1945b', 'quote.created', 1780474530267, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.267Z","data":{"id":"019e8c8d-49ca-7031-a608-96104b3a99b6","number":"DEV-2026-0010","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49dc-7001-96bc-da15ed2431b3', 'quote.accepted', 1780474530268, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.268Z","data":{"id":"019e8c8d-49ca-7031-a608-96104b3a99b6","number":"DEV-2026-0010","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.268Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49dd-7001-a91f-83b379cec1b5', 'invoice.created', 1780474530269, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.269Z","data":{"id":"019e8c8d-49ca-7036-b6af-34b496b79ae4","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-7031-a608-96104b3a99b6","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49df-7001-a036-c8b3e75de82f', 'quote.created', 1780474530271, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.271Z","data":{"id":"019e8c8d-49ca-7039-8071-b281bb8a5ea5","number":"DEV-2026-0011","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e0-7001-8239-9682a657894a', 'quote.accepted', 1780474530272, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.272Z","data":{"id":"019e8c8d-49ca-7039-8071-b281bb8a5ea5","number":"DEV-2026-0011","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.272Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e1-7001-b998-1ea79c21e18a', 'invoice.created', 1780474530273, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.273Z","data":{"id":"019e8c8d-49ca-703e-a20e-7ace6cfa9a36","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-7039-8071-b281bb8a5ea5","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e4-7001-a438-a1933d906d19', 'quote.created', 1780474530276, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.276Z","data":{"id":"019e8c8d-49ca-7043-b902-932b85c1d409","number":"DEV-2026-0012","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e5-7001-8e88-39b9700e60dc', 'quote.accepted', 1780474530277, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.277Z","data":{"id":"019e8c8d-49ca-7043-b902-932b85c1d409","number":"DEV-2026-0012","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.277Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e9-7001-972c-aa0d5d3c18e7', 'quote.created', 1780474530281, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.281Z","data":{"id":"019e8c8d-49ca-704d-ab7f-d5f680c3f436","number":"DEV-2026-0013","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ea-7001-9617-d2afa7fe03ca', 'quote.accepted', 1780474530282, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.282Z","data":{"id":"019e8c8d-49ca-704d-ab7f-d5f680c3f436","number":"DEV-2026-0013","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.282Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f3-7001-8fa2-952cc4813f88', 'quote.created', 1780474530291, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.291Z","data":{"id":"019e8c8d-49ca-7061-816b-a43f20f85fa4","number":"DEV-2026-0015","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f5-7001-b6fc-21c62837bdf2', 'invoice.created', 1780474530293, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.293Z","data":{"id":"019e8c8d-49ca-7066-87b3-4cc5645e4452","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-7061-816b-a43f20f85fa4","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a00-7001-9bc8-cd59523c49a4', 'project.completed', 1780474530304, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.304Z","data":{"id":"019e8c8d-49ca-7078-b863-b6decc250a39","name":"completed","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":["019e8c8d-49ca-701b-8115-3b4b03b6632c"],"completedAt":"2026-06-03T08:15:30.304Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a06-7001-8e2d-bc17b4b3edb4', 'project.completed', 1780474530310, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.310Z","data":{"id":"019e8c8d-49ca-7086-91dc-9949e2893fae","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.310Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a08-7001-98d7-edb168cc8003', 'project.completed', 1780474530312, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.312Z","data":{"id":"019e8c8d-49ca-708c-ba29-6513fb38bac4","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.312Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e6-7001-ba84-cb85657441e6', 'invoice.created', 1780474530278, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.278Z","data":{"id":"019e8c8d-49ca-7048-9c39-84c80976b993","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-7043-b902-932b85c1d409","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49e8-7001-a01d-1dca1e4a92e5', 'invoice.paid', 1780474530280, '{"event":"invoice.paid","timestamp":"2026-06-03T08:15:30.280Z","data":{"id":"019e8c8d-49ca-7048-9c39-84c80976b993","number":"FAC-2026-0004","status":"PAID","quoteId":"019e8c8d-49ca-7043-b902-932b85c1d409","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":782.56,"amountDue":0,"issueDate":"2026-06-03","dueDate":"2026-07-03","paidAt":"2026-06-03T08:15:30.280Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49eb-7001-8af8-54b1efee7159', 'invoice.created', 1780474530283, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.283Z","data":{"id":"019e8c8d-49ca-7052-8ca0-63ab6e71fc66","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-704d-ab7f-d5f680c3f436","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ed-7001-bc7f-7f9007bf5db8', 'invoice.paid', 1780474530285, '{"event":"invoice.paid","timestamp":"2026-06-03T08:15:30.285Z","data":{"id":"019e8c8d-49ca-7052-8ca0-63ab6e71fc66","number":"FAC-2026-0005","status":"PAID","quoteId":"019e8c8d-49ca-704d-ab7f-d5f680c3f436","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":823.75,"amountDue":0,"issueDate":"2026-06-03","dueDate":"2026-07-03","paidAt":"2026-06-03T08:15:30.285Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ee-7001-9f97-12611b3854cc', 'quote.created', 1780474530286, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.286Z","data":{"id":"019e8c8d-49ca-7057-9bfb-d59985b59c95","number":"DEV-2026-0014","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f2-7001-aed5-7a972fdd2d26', 'invoice.paid', 1780474530290, '{"event":"invoice.paid","timestamp":"2026-06-03T08:15:30.290Z","data":{"id":"019e8c8d-49ca-705c-be90-f69db2212199","number":"FAC-2026-0006","status":"PAID","quoteId":"019e8c8d-49ca-7057-9bfb-d59985b59c95","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":5000,"amountDue":0,"issueDate":"2026-06-03","dueDate":"2026-07-03","paidAt":"2026-06-03T08:15:30.290Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f4-7001-8776-3e603a098df8', 'quote.accepted', 1780474530292, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.292Z","data":{"id":"019e8c8d-49ca-7061-816b-a43f20f85fa4","number":"DEV-2026-0015","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.292Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f7-7001-8031-6960375ddd1f', 'invoice.paid', 1780474530295, '{"event":"invoice.paid","timestamp":"2026-06-03T08:15:30.295Z","data":{"id":"019e8c8d-49ca-7066-87b3-4cc5645e4452","number":"FAC-2026-0007","status":"PAID","quoteId":"019e8c8d-49ca-7061-816b-a43f20f85fa4","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":5000,"amountDue":0,"issueDate":"2026-06-03","dueDate":"2026-07-03","paidAt":"2026-06-03T08:15:30.295Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49fb-7001-a8b3-060912707ac0', 'invoice.created', 1780474530299, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.299Z","data":{"id":"019e8c8d-49ca-7071-9842-c96b3afcc1ec","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-706c-a29c-1d36822f1d40","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0b-7001-a75b-c559a23925e3', 'ping', 1780474530315, '{"event":"ping","timestamp":"2026-06-03T08:15:30.315Z","data":{"id":"019e8c8d-49ca-707e-a90d-3e4a164e05ba","message":"This is a test delivery; nothing has happened."}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ef-7001-97bf-d2055301ffaa', 'quote.accepted', 1780474530287, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.287Z","data":{"id":"019e8c8d-49ca-7057-9bfb-d59985b59c95","number":"DEV-2026-0014","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.287Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f0-7001-9628-de6ab49e83e0', 'invoice.created', 1780474530288, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.288Z","data":{"id":"019e8c8d-49ca-705c-be90-f69db2212199","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-7057-9bfb-d59985b59c95","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49f9-7001-b719-b2bcbdb63e3d', 'quote.created', 1780474530297, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.297Z","data":{"id":"019e8c8d-49ca-706c-a29c-1d36822f1d40","number":"DEV-2026-0016","status":"DRAFT","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49fa-7001-9b17-64cf4150c425', 'quote.accepted', 1780474530298, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.298Z","data":{"id":"019e8c8d-49ca-706c-a29c-1d36822f1d40","number":"DEV-2026-0016","status":"ACCEPTED","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.298Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a04-7001-910c-eb948d8eaacf', 'project.completed', 1780474530308, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.308Z","data":{"id":"019e8c8d-49ca-7080-a96c-256a0c4fe2f6","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.308Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0a-7001-be91-4e4a8f606806', 'project.completed', 1780474530314, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.314Z","data":{"id":"019e8c8d-49ca-7095-8369-c5a646088050","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.314Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a11-7001-9477-1a814882a228', 'project.completed', 1780474530321, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.321Z","data":{"id":"019e8c8d-49ca-70aa-9e9d-a965bf8b290b","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.321Z"}}');
INSERT INTO public.event VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49cc-7001-8642-5edc07582895', 'quote.created', 1780474530252, '{"event":"quote.created","timestamp":"2026-06-03T08:15:30.252Z","data":{"id":"019e8c8d-49ca-70b5-a985-87f347bfe3ae","number":"DEV-2026-0001","status":"DRAFT","clientName":"Petit","clientEmail":null,"totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46}}');
INSERT INTO public.event VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49cd-7001-8716-cc37228f23bc', 'quote.accepted', 1780474530253, '{"event":"quote.accepted","timestamp":"2026-06-03T08:15:30.253Z","data":{"id":"019e8c8d-49ca-70b5-a985-87f347bfe3ae","number":"DEV-2026-0001","status":"ACCEPTED","clientName":"Petit","clientEmail":null,"totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"acceptedAt":"2026-06-03T08:15:30.253Z"}}');
INSERT INTO public.event VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49cd-7002-a327-04084afb9c96', 'invoice.created', 1780474530253, '{"event":"invoice.created","timestamp":"2026-06-03T08:15:30.253Z","data":{"id":"019e8c8d-49ca-70b9-81f4-0de86ee24767","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-70b5-a985-87f347bfe3ae","clientName":"Petit","clientEmail":null,"totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"amountPaid":0,"amountDue":782.56,"issueDate":null,"dueDate":null}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0d-7001-9315-84b9b9465739', 'project.completed', 1780474530317, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.317Z","data":{"id":"019e8c8d-49ca-709c-a2bf-e83cd649af40","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.317Z"}}');
INSERT INTO public.event VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-4a0f-7001-894b-1aacdaccf03d', 'project.completed', 1780474530319, '{"event":"project.completed","timestamp":"2026-06-03T08:15:30.319Z","data":{"id":"019e8c8d-49ca-70a2-b8e8-0b0f11ff04e7","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.319Z"}}');


--
-- Data for Name: invoice; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-701b-afdd-2776d1d19636', '019cad9d-ddca-7016-9bb2-d3ce1db48cb1', 'OVERDUE', '2026-04-01', 1772439330259, 1775117730251, '{"id":"019cad9d-ddca-701b-afdd-2776d1d19636","number":"FAC-2026-0001","status":"OVERDUE","quoteId":"019cad9d-ddca-7016-9bb2-d3ce1db48cb1","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-03-02","dueDate":"2026-04-01","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":0,"amountDue":782.56,"amountOverpaid":0,"paidAt":null,"canceledAt":null,"createdAt":"2026-03-02T08:15:30.259Z","updatedAt":"2026-04-02T08:15:30.251Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-702f-a261-9dbcf5bf469b', '019e8c8d-49ca-702a-9021-b6d4355511be', 'DRAFT', NULL, 1780474530266, 1780474530266, '{"id":"019e8c8d-49ca-702f-a261-9dbcf5bf469b","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-702a-9021-b6d4355511be","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":null,"dueDate":null,"totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":0,"amountDue":782.56,"amountOverpaid":0,"paidAt":null,"canceledAt":null,"createdAt":"2026-06-03T08:15:30.266Z","updatedAt":"2026-06-03T08:15:30.266Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7036-b6af-34b496b79ae4', '019e8c8d-49ca-7031-a608-96104b3a99b6', 'SENT', '2026-07-03', 1780474530269, 1780474530270, '{"id":"019e8c8d-49ca-7036-b6af-34b496b79ae4","number":"FAC-2026-0002","status":"SENT","quoteId":"019e8c8d-49ca-7031-a608-96104b3a99b6","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":0,"amountDue":782.56,"amountOverpaid":0,"paidAt":null,"canceledAt":null,"createdAt":"2026-06-03T08:15:30.269Z","updatedAt":"2026-06-03T08:15:30.270Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-703e-a20e-7ace6cfa9a36', '019e8c8d-49ca-7039-8071-b281bb8a5ea5', 'SENT', '2026-07-03', 1780474530273, 1780474530275, '{"id":"019e8c8d-49ca-703e-a20e-7ace6cfa9a36","number":"FAC-2026-0003","status":"SENT","quoteId":"019e8c8d-49ca-7039-8071-b281bb8a5ea5","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":100,"amountDue":682.56,"amountOverpaid":0,"paidAt":null,"canceledAt":null,"createdAt":"2026-06-03T08:15:30.273Z","updatedAt":"2026-06-03T08:15:30.275Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7048-9c39-84c80976b993', '019e8c8d-49ca-7043-b902-932b85c1d409', 'PAID', NULL, 1780474530278, 1780474530280, '{"id":"019e8c8d-49ca-7048-9c39-84c80976b993","number":"FAC-2026-0004","status":"PAID","quoteId":"019e8c8d-49ca-7043-b902-932b85c1d409","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":782.56,"amountDue":0,"amountOverpaid":0,"paidAt":"2026-06-03T08:15:30.280Z","canceledAt":null,"createdAt":"2026-06-03T08:15:30.278Z","updatedAt":"2026-06-03T08:15:30.280Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7052-8ca0-63ab6e71fc66', '019e8c8d-49ca-704d-ab7f-d5f680c3f436', 'PAID', NULL, 1780474530283, 1780474530285, '{"id":"019e8c8d-49ca-7052-8ca0-63ab6e71fc66","number":"FAC-2026-0005","status":"PAID","quoteId":"019e8c8d-49ca-704d-ab7f-d5f680c3f436","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":823.75,"amountDue":0,"amountOverpaid":41.19,"paidAt":"2026-06-03T08:15:30.285Z","canceledAt":null,"createdAt":"2026-06-03T08:15:30.283Z","updatedAt":"2026-06-03T08:15:30.285Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-705c-be90-f69db2212199', '019e8c8d-49ca-7057-9bfb-d59985b59c95', 'PAID', NULL, 1780474530288, 1780474530290, '{"id":"019e8c8d-49ca-705c-be90-f69db2212199","number":"FAC-2026-0006","status":"PAID","quoteId":"019e8c8d-49ca-7057-9bfb-d59985b59c95","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":5000,"amountDue":0,"amountOverpaid":4217.44,"paidAt":"2026-06-03T08:15:30.290Z","canceledAt":null,"createdAt":"2026-06-03T08:15:30.288Z","updatedAt":"2026-06-03T08:15:30.290Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7066-87b3-4cc5645e4452', '019e8c8d-49ca-7061-816b-a43f20f85fa4', 'SENT', '2026-07-03', 1780474530293, 1780474530296, '{"id":"019e8c8d-49ca-7066-87b3-4cc5645e4452","number":"FAC-2026-0007","status":"SENT","quoteId":"019e8c8d-49ca-7061-816b-a43f20f85fa4","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":0,"amountDue":782.56,"amountOverpaid":0,"paidAt":null,"canceledAt":null,"createdAt":"2026-06-03T08:15:30.293Z","updatedAt":"2026-06-03T08:15:30.296Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7071-9842-c96b3afcc1ec', '019e8c8d-49ca-706c-a29c-1d36822f1d40', 'CANCELED', '2026-07-03', 1780474530299, 1780474530301, '{"id":"019e8c8d-49ca-7071-9842-c96b3afcc1ec","number":"FAC-2026-0008","status":"CANCELED","quoteId":"019e8c8d-49ca-706c-a29c-1d36822f1d40","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","issueDate":"2026-06-03","dueDate":"2026-07-03","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":0,"amountDue":782.56,"amountOverpaid":0,"paidAt":null,"canceledAt":"2026-06-03T08:15:30.301Z","createdAt":"2026-06-03T08:15:30.299Z","updatedAt":"2026-06-03T08:15:30.301Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');
INSERT INTO public.invoice VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49ca-70b9-81f4-0de86ee24767', '019e8c8d-49ca-70b5-a985-87f347bfe3ae', 'DRAFT', NULL, 1780474530253, 1780474530253, '{"id":"019e8c8d-49ca-70b9-81f4-0de86ee24767","number":null,"status":"DRAFT","quoteId":"019e8c8d-49ca-70b5-a985-87f347bfe3ae","clientId":"019e8c8d-49ca-70b3-a4db-8fd241f143fe","clientName":"Petit","clientEmail":null,"issueDate":null,"dueDate":null,"totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","retentionRate":5,"retentionAmount":41.19,"amountPaid":0,"amountDue":782.56,"amountOverpaid":0,"paidAt":null,"canceledAt":null,"createdAt":"2026-06-03T08:15:30.253Z","updatedAt":"2026-06-03T08:15:30.253Z"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}]}');


--
-- Data for Name: invoicing_migration; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.invoicing_migration VALUES (101);


--
-- Data for Name: payment; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.payment VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-703e-a20e-7ace6cfa9a36', '019e8c8d-49ca-7041-a655-e2747153878e', 'VIR-1', NULL, '{"id":"019e8c8d-49ca-7041-a655-e2747153878e","invoiceId":"019e8c8d-49ca-703e-a20e-7ace6cfa9a36","amount":100,"method":"bank","reference":"VIR-1","recordedAt":"2026-06-03T08:15:30.275Z","reversedAt":null}');
INSERT INTO public.payment VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7048-9c39-84c80976b993', '019e8c8d-49ca-704b-b44c-561b010e0384', NULL, NULL, '{"id":"019e8c8d-49ca-704b-b44c-561b010e0384","invoiceId":"019e8c8d-49ca-7048-9c39-84c80976b993","amount":782.56,"method":"manual","reference":null,"recordedAt":"2026-06-03T08:15:30.280Z","reversedAt":null}');
INSERT INTO public.payment VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7052-8ca0-63ab6e71fc66', '019e8c8d-49ca-7055-aeb2-73ee8e8459be', 'VIR-2', NULL, '{"id":"019e8c8d-49ca-7055-aeb2-73ee8e8459be","invoiceId":"019e8c8d-49ca-7052-8ca0-63ab6e71fc66","amount":823.75,"method":"bank","reference":"VIR-2","recordedAt":"2026-06-03T08:15:30.285Z","reversedAt":null}');
INSERT INTO public.payment VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-705c-be90-f69db2212199', '019e8c8d-49ca-705f-94a1-1767fe8cf910', NULL, NULL, '{"id":"019e8c8d-49ca-705f-94a1-1767fe8cf910","invoiceId":"019e8c8d-49ca-705c-be90-f69db2212199","amount":5000,"method":"bank","reference":null,"recordedAt":"2026-06-03T08:15:30.290Z","reversedAt":null}');
INSERT INTO public.payment VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7066-87b3-4cc5645e4452', '019e8c8d-49ca-7069-9aac-d8b8c0c15440', 'CHQ-1', 1780474530296, '{"id":"019e8c8d-49ca-7069-9aac-d8b8c0c15440","invoiceId":"019e8c8d-49ca-7066-87b3-4cc5645e4452","amount":5000,"method":"bank","reference":"CHQ-1","recordedAt":"2026-06-03T08:15:30.295Z","reversedAt":"2026-06-03T08:15:30.296Z"}');


--
-- Data for Name: project; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7075-98ca-a24fc242e520', '{"id":"019e8c8d-49ca-7075-98ca-a24fc242e520","name":"open","status":"OPEN","clientName":null,"clientEmail":null,"quoteIds":["019e8c8d-49ca-701b-8115-3b4b03b6632c"],"completedAt":null,"createdAt":"2026-06-03T08:15:30.302Z","updatedAt":"2026-06-03T08:15:30.302Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7078-b863-b6decc250a39', '{"id":"019e8c8d-49ca-7078-b863-b6decc250a39","name":"completed","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":["019e8c8d-49ca-701b-8115-3b4b03b6632c"],"completedAt":"2026-06-03T08:15:30.304Z","createdAt":"2026-06-03T08:15:30.303Z","updatedAt":"2026-06-03T08:15:30.304Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-707b-bba1-476d5347ae25', '{"id":"019e8c8d-49ca-707b-bba1-476d5347ae25","name":"canceled","status":"CANCELED","clientName":null,"clientEmail":null,"quoteIds":["019e8c8d-49ca-701b-8115-3b4b03b6632c"],"completedAt":null,"createdAt":"2026-06-03T08:15:30.305Z","updatedAt":"2026-06-03T08:15:30.306Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7080-a96c-256a0c4fe2f6', '{"id":"019e8c8d-49ca-7080-a96c-256a0c4fe2f6","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.308Z","createdAt":"2026-06-03T08:15:30.307Z","updatedAt":"2026-06-03T08:15:30.308Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7086-91dc-9949e2893fae', '{"id":"019e8c8d-49ca-7086-91dc-9949e2893fae","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.310Z","createdAt":"2026-06-03T08:15:30.309Z","updatedAt":"2026-06-03T08:15:30.310Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-708c-ba29-6513fb38bac4', '{"id":"019e8c8d-49ca-708c-ba29-6513fb38bac4","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.312Z","createdAt":"2026-06-03T08:15:30.311Z","updatedAt":"2026-06-03T08:15:30.312Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7095-8369-c5a646088050', '{"id":"019e8c8d-49ca-7095-8369-c5a646088050","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.314Z","createdAt":"2026-06-03T08:15:30.313Z","updatedAt":"2026-06-03T08:15:30.314Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-709c-a2bf-e83cd649af40', '{"id":"019e8c8d-49ca-709c-a2bf-e83cd649af40","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.317Z","createdAt":"2026-06-03T08:15:30.316Z","updatedAt":"2026-06-03T08:15:30.317Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-70a2-b8e8-0b0f11ff04e7', '{"id":"019e8c8d-49ca-70a2-b8e8-0b0f11ff04e7","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.319Z","createdAt":"2026-06-03T08:15:30.318Z","updatedAt":"2026-06-03T08:15:30.319Z"}');
INSERT INTO public.project VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-70aa-9e9d-a965bf8b290b', '{"id":"019e8c8d-49ca-70aa-9e9d-a965bf8b290b","name":"Delivered","status":"COMPLETED","clientName":null,"clientEmail":null,"quoteIds":[],"completedAt":"2026-06-03T08:15:30.321Z","createdAt":"2026-06-03T08:15:30.320Z","updatedAt":"2026-06-03T08:15:30.321Z"}');


--
-- Data for Name: proof; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.proof VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-701b-8115-3b4b03b6632c', '\xe94878508c0770978d0349749923d1f720705e8558e38d0041a1de0c76275c47', '192.0.2.7', 'browser', '50705a27f18a3be81d58f71f3bbcd944f6e51b68686b8cd9c5740810e28f22c7', 'sha256:a8a36bb254cf787c5d5077e7ba2dd9d2582069f0953e74380d6c7b75203e83cb', 1780474530250);


--
-- Data for Name: quote; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7016-9bb2-d3ce1db48cb1', 'ACCEPTED', NULL, 1772439330257, 1772439330258, '{"id":"019cad9d-ddca-7016-9bb2-d3ce1db48cb1","number":"DEV-2026-0002","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-03-02T08:15:30.257Z","updatedAt":"2026-03-02T08:15:30.258Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-03-02T08:15:30.258Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7011-9472-7b852685b0f6', 'EXPIRED', '2026-04-01', 1772439330255, 1775117730250, '{"id":"019cad9d-ddca-7011-9472-7b852685b0f6","number":"DEV-2026-0001","status":"EXPIRED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":"2026-04-01","createdAt":"2026-03-02T08:15:30.255Z","updatedAt":"2026-04-02T08:15:30.250Z","sentAt":"2026-03-02T08:15:30.250Z","signedAt":null,"acceptedAt":null,"signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7006-bcc6-cbaa299e2dd7', 'DRAFT', NULL, 1780474530250, 1780474530250, '{"id":"019e8c8d-49ca-7006-bcc6-cbaa299e2dd7","number":"DEV-2026-0003","status":"DRAFT","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":0,"totalTTC":0,"tvaRate":0,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.250Z","updatedAt":"2026-06-03T08:15:30.250Z","sentAt":null,"signedAt":null,"acceptedAt":null,"signedByName":null,"signedByEmail":null', '[]', '"retentionRate":0,"retentionAmount":0,"vatBreakdown":[],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7008-a567-7f692d09a6d3', 'DRAFT', NULL, 1780474530251, 1780474530252, '{"id":"019e8c8d-49ca-7008-a567-7f692d09a6d3","number":"DEV-2026-0004","status":"DRAFT","externalId":"deal-7","clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.251Z","updatedAt":"2026-06-03T08:15:30.252Z","sentAt":null,"signedAt":null,"acceptedAt":null,"signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', 'Quai Rambaud
69002 Lyon');
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-700c-ad09-f80816bce761', 'REJECTED', '2026-07-03', 1780474530253, 1780474530257, '{"id":"019e8c8d-49ca-700c-ad09-f80816bce761","number":"DEV-2026-0005","status":"REJECTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":"2026-07-03","createdAt":"2026-06-03T08:15:30.253Z","updatedAt":"2026-06-03T08:15:30.257Z","sentAt":"2026-06-03T08:15:30.250Z","signedAt":null,"acceptedAt":null,"signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7016-81d3-c6502bb669ad', 'ACCEPTED', NULL, 1780474530258, 1780474530258, '{"id":"019e8c8d-49ca-7016-81d3-c6502bb669ad","number":"DEV-2026-0006","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.258Z","updatedAt":"2026-06-03T08:15:30.258Z","sentAt":"2026-06-03T08:15:30.258Z","signedAt":null,"acceptedAt":"2026-06-03T08:15:30.258Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', 'Quai Rambaud
69002 Lyon');
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-701b-8115-3b4b03b6632c', 'ACCEPTED', '2026-07-03', 1780474530259, 1780474530261, '{"id":"019e8c8d-49ca-701b-8115-3b4b03b6632c","number":"DEV-2026-0007","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":"2026-07-03","createdAt":"2026-06-03T08:15:30.259Z","updatedAt":"2026-06-03T08:15:30.261Z","sentAt":"2026-06-03T08:15:30.250Z","signedAt":"2026-06-03T08:15:30.250Z","acceptedAt":"2026-06-03T08:15:30.250Z","signedByName":"Zoé Lefèvre","signedByEmail":"zoe@exemple.fr"', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":{"signedAt":"2026-06-03T08:15:30.250Z","signedByName":"Zoé Lefèvre","signedByEmail":"zoe@exemple.fr","acceptedText":"Bon pour accord","proofFingerprint":"sha256:a8a36bb254cf787c5d5077e7ba2dd9d2582069f0953e74380d6c7b75203e83cb"}}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7024-ade3-dabc1d3de768', 'SENT', '2026-07-03', 1780474530262, 1780474530263, '{"id":"019e8c8d-49ca-7024-ade3-dabc1d3de768","number":"DEV-2026-0008","status":"SENT","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":"2026-07-03","createdAt":"2026-06-03T08:15:30.262Z","updatedAt":"2026-06-03T08:15:30.263Z","sentAt":"2026-06-03T08:15:30.250Z","signedAt":null,"acceptedAt":null,"signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7043-b902-932b85c1d409', 'ACCEPTED', NULL, 1780474530276, 1780474530277, '{"id":"019e8c8d-49ca-7043-b902-932b85c1d409","number":"DEV-2026-0012","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.276Z","updatedAt":"2026-06-03T08:15:30.277Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.277Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-704d-ab7f-d5f680c3f436', 'ACCEPTED', NULL, 1780474530281, 1780474530282, '{"id":"019e8c8d-49ca-704d-ab7f-d5f680c3f436","number":"DEV-2026-0013","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.281Z","updatedAt":"2026-06-03T08:15:30.282Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.282Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-702a-9021-b6d4355511be', 'ACCEPTED', NULL, 1780474530264, 1780474530265, '{"id":"019e8c8d-49ca-702a-9021-b6d4355511be","number":"DEV-2026-0009","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.264Z","updatedAt":"2026-06-03T08:15:30.265Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.265Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7057-9bfb-d59985b59c95', 'ACCEPTED', NULL, 1780474530286, 1780474530287, '{"id":"019e8c8d-49ca-7057-9bfb-d59985b59c95","number":"DEV-2026-0014","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.286Z","updatedAt":"2026-06-03T08:15:30.287Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.287Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7061-816b-a43f20f85fa4', 'ACCEPTED', NULL, 1780474530291, 1780474530292, '{"id":"019e8c8d-49ca-7061-816b-a43f20f85fa4","number":"DEV-2026-0015","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.291Z","updatedAt":"2026-06-03T08:15:30.292Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.292Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7031-a608-96104b3a99b6', 'ACCEPTED', NULL, 1780474530267, 1780474530268, '{"id":"019e8c8d-49ca-7031-a608-96104b3a99b6","number":"DEV-2026-0010","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.267Z","updatedAt":"2026-06-03T08:15:30.268Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.268Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7039-8071-b281bb8a5ea5', 'ACCEPTED', NULL, 1780474530271, 1780474530272, '{"id":"019e8c8d-49ca-7039-8071-b281bb8a5ea5","number":"DEV-2026-0011","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.271Z","updatedAt":"2026-06-03T08:15:30.272Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.272Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-706c-a29c-1d36822f1d40', 'ACCEPTED', NULL, 1780474530297, 1780474530298, '{"id":"019e8c8d-49ca-706c-a29c-1d36822f1d40","number":"DEV-2026-0016","status":"ACCEPTED","externalId":null,"clientId":"019cad9d-ddca-700f-b6f8-2c4ae8b8a1f8","clientName":"Zoé Lefèvre","clientEmail":"zoe@exemple.fr","totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.297Z","updatedAt":"2026-06-03T08:15:30.298Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.298Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);
INSERT INTO public.quote VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49ca-70b5-a985-87f347bfe3ae', 'ACCEPTED', NULL, 1780474530252, 1780474530253, '{"id":"019e8c8d-49ca-70b5-a985-87f347bfe3ae","number":"DEV-2026-0001","status":"ACCEPTED","externalId":null,"clientId":"019e8c8d-49ca-70b3-a4db-8fd241f143fe","clientName":"Petit","clientEmail":null,"totalHT":732.5,"totalTTC":823.75,"tvaRate":12.46,"currency":"EUR","validUntil":null,"createdAt":"2026-06-03T08:15:30.252Z","updatedAt":"2026-06-03T08:15:30.253Z","sentAt":null,"signedAt":null,"acceptedAt":"2026-06-03T08:15:30.253Z","signedByName":null,"signedByEmail":null', '[{"description":"Ravalement de façade","quantity":12.5,"unit":"m2","unitPrice":48.2,"totalHT":602.5,"tvaRate":10,"lot":"Peinture","section":"Extérieur"},{"description":"Évacuation","quantity":1,"unit":null,"unitPrice":180,"totalHT":180,"tvaRate":20,"lot":"Divers","section":null},{"description":"Remise","quantity":-1,"unit":null,"unitPrice":50,"totalHT":-50,"tvaRate":10,"lot":null,"section":null}]', '"retentionRate":5,"retentionAmount":41.19,"vatBreakdown":[{"tvaRate":10,"baseHT":552.5,"amountTVA":55.25},{"tvaRate":20,"baseHT":180,"amountTVA":36}],"signature":null}', NULL);


--
-- Data for Name: quote_costing; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7011-9472-7b852685b0f6', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019cad9d-ddca-7016-9bb2-d3ce1db48cb1', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7006-bcc6-cbaa299e2dd7', '[]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7008-a567-7f692d09a6d3', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-700c-ad09-f80816bce761', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7016-81d3-c6502bb669ad', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-701b-8115-3b4b03b6632c', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7024-ade3-dabc1d3de768', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-702a-9021-b6d4355511be', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7031-a608-96104b3a99b6', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7039-8071-b281bb8a5ea5', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7043-b902-932b85c1d409', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-704d-ab7f-d5f680c3f436', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7057-9bfb-d59985b59c95', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7061-816b-a43f20f85fa4', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-706c-a29c-1d36822f1d40', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');
INSERT INTO public.quote_costing VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', '019e8c8d-49ca-70b5-a985-87f347bfe3ae', '[{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"},{"labourCost":null,"materialCost":null,"privateNote":null,"subcontractor":null},{"labourCost":777.77,"materialCost":888.88,"privateNote":"c4n4ry note","subcontractor":"c4n4ry sub"}]');


--
-- Data for Name: series; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.series VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 'DEV', 2026, 16);
INSERT INTO public.series VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', 'FAC', 2026, 8);
INSERT INTO public.series VALUES ('019e8c8d-49ca-70b0-8b44-960dd39d542c', 'DEV', 2026, 1);


--
-- Data for Name: setting; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.setting VALUES ('sealing_key.release', '\x76312e72656c656173652e4e774238596143373347726151653376302d49427675796968523574733178664753494371384374526a7767744943644e3443686477');
INSERT INTO public.setting VALUES ('document_url_key', '\x76312e72656c656173652e484876785f727764385932304375556974325064414d717077466667724c59335f30466d6151715545654b70465a445379466e6d677832445f44676f4a34774251654434746a6337712d366a38656b5f79595f3150745475526f463477736d39');


--
-- Data for Name: signing_link; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.signing_link VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '\xc8c94d7feefb16f53897c8be47c442b832eae8ab2baad00fea38c711567a7225', '019e8c8d-49ca-700c-ad09-f80816bce761', 1780474530250);
INSERT INTO public.signing_link VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '\xe94878508c0770978d0349749923d1f720705e8558e38d0041a1de0c76275c47', '019e8c8d-49ca-701b-8115-3b4b03b6632c', 1780474530250);
INSERT INTO public.signing_link VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '\x1f24576193bb270174fbdccdc7674ff44a0c0c60e481522443dcac5496377a62', '019e8c8d-49ca-7024-ade3-dabc1d3de768', 1780474530250);


--
-- Data for Name: upload; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: webhook; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.webhook VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-707e-a90d-3e4a164e05ba', 'http://127.0.0.1:42149/hook/active', 63, 'v1.release.kTJrcJz2sS5r8mFB80E48VQ4C-rrLapEShvI5agnvlk19E5RgqeOFlQeQ4gGwoOjXlrOA95kdzf2hI7tclCixojLetQ10LYuy1hQOV2cjg6c4QS-Pkpsos0', 0, NULL, NULL, 1780474530250, NULL, DEFAULT);
INSERT INTO public.webhook VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-7092-8c9b-0065f96efbb6', 'http://127.0.0.1:42149/hook/disabled', 63, 'v1.release.JrNCmPlZyIKej5q6Tp-qaTSbmHGXrMRyFCDfF1yt2crKcnHcZzOpoiCPNUBlvy9Cr2HFOfpkLz6rwU051Zv1yRTdPrHcDudTTYMx3KYbpWf5UAg6w7m2NKI', 0, 1780474530250, 'manual', 1780474530250, NULL, DEFAULT);
INSERT INTO public.webhook VALUES ('019cad9d-ddca-7003-a978-dafb93a2b004', '019e8c8d-49ca-70a8-9bac-08c669406f81', 'http://127.0.0.1:42149/hook/removed', 63, '', 0, NULL, NULL, 1780474530250, 1780474530250, DEFAULT);


--
-- Name: delivery_id_block; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.delivery_id_block', 157697, true);


--
-- Name: api_key api_key_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (company_id, id);


--
-- Name: attempt attempt_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (company_id, at, event_id, webhook_id, number);


--
-- Name: client client_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.client
    ADD CONSTRAINT client_pkey PRIMARY KEY (company_id, id);


--
-- Name: commit_status commit_status_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.commit_status
    ADD CONSTRAINT commit_status_pkey PRIMARY KEY (id);


--
-- Name: company company_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.company
    ADD CONSTRAINT company_pkey PRIMARY KEY (id);


--
-- Name: delivery delivery_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (company_id, event_id, webhook_id);


--
-- Name: document document_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (company_id, quote_id, number);


--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (company_id, id);


--
-- Name: invoice invoice_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.invoice
    ADD CONSTRAINT invoice_pkey PRIMARY KEY (company_id, id);


--
-- Name: invoicing_migration invoicing_migration_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.invoicing_migration
    ADD CONSTRAINT invoicing_migration_pkey PRIMARY KEY (version);


--
-- Name: payment payment_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.payment
    ADD CONSTRAINT payment_pkey PRIMARY KEY (company_id, invoice_id, id);


--
-- Name: project project_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.project
    ADD CONSTRAINT project_pkey PRIMARY KEY (company_id, id);


--
-- Name: proof proof_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.proof
    ADD CONSTRAINT proof_pkey PRIMARY KEY (company_id, quote_id);


--
-- Name: quote_costing quote_costing_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.quote_costing
    ADD CONSTRAINT quote_costing_pkey PRIMARY KEY (company_id, quote_id);


--
-- Name: quote quote_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.quote
    ADD CONSTRAINT quote_pkey PRIMARY KEY (company_id, id);


--
-- Name: series series_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.series
    ADD CONSTRAINT series_pkey PRIMARY KEY (company_id, kind, year);


--
-- Name: setting setting_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (name);


--
-- Name: signing_link signing_link_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.signing_link
    ADD CONSTRAINT signing_link_pkey PRIMARY KEY (company_id, token_hash);


--
-- Name: upload upload_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.upload
    ADD CONSTRAINT upload_pkey PRIMARY KEY (company_id, id);


--
-- Name: webhook webhook_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (company_id, id);


--
-- Name: api_key_hash; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX api_key_hash ON public.api_key USING btree (hash);


--
-- Name: client_created; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX client_created ON public.client USING btree (company_id, created_at, id);


--
-- Name: client_external_id; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX client_external_id ON public.client USING btree (company_id, external_id) WHERE (external_id IS NOT NULL);


--
-- Name: client_updated; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX client_updated ON public.client USING btree (company_id, updated_at, id);


--
-- Name: commit_status_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX commit_status_at ON public.commit_status USING btree (at);


--
-- Name: delivery_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX delivery_due ON public.delivery USING btree (webhook_id, due_at, id) WHERE (status = 'pending'::text);


--
-- Name: delivery_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX delivery_id ON public.delivery USING btree (id);


--
-- Name: delivery_replayable; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX delivery_replayable ON public.delivery USING btree (webhook_id, event_id) WHERE (status = ANY (ARRAY['failed'::text, 'skipped'::text]));


--
-- Name: invoice_created; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX invoice_created ON public.invoice USING btree (company_id, created_at, id);


--
-- Name: invoice_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX invoice_due ON public.invoice USING btree (company_id, due_date) WHERE (status = 'SENT'::text);


--
-- Name: invoice_quote; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX invoice_quote ON public.invoice USING btree (company_id, quote_id) WHERE (status <> 'CANCELED'::text);


--
-- Name: invoice_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX invoice_status ON public.invoice USING btree (company_id, status, created_at, id);


--
-- Name: invoice_updated; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX invoice_updated ON public.invoice USING btree (company_id, updated_at, id);


--
-- Name: payment_reference; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX payment_reference ON public.payment USING btree (company_id, invoice_id, reference) WHERE (reference IS NOT NULL);


--
-- Name: quote_created; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX quote_created ON public.quote USING btree (company_id, created_at, id);


--
-- Name: quote_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX quote_status ON public.quote USING btree (company_id, status, created_at, id);


--
-- Name: quote_updated; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX quote_updated ON public.quote USING btree (company_id, updated_at, id);


--
-- Name: quote_validity; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX quote_validity ON public.quote USING btree (company_id, valid_until) WHERE (status = 'SENT'::text);


--
-- Name: signing_link_token; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX signing_link_token ON public.signing_link USING btree (token_hash);


--
-- Name: webhook_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX webhook_id ON public.webhook USING btree (id);


--
-- PostgreSQL database dump complete
--


