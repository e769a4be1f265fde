-- What caused an event: the id of the request, and what the host gave to be given back at the attempts, in base64. Null where
-- nothing was given, and for events of before.
ALTER TABLE event ADD COLUMN request_id TEXT;
ALTER TABLE event ADD COLUMN trace_context TEXT;
