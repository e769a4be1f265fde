-- Pages of quotes show how a quote was declined. Few changes are refusals, so that the index stays small.
CREATE INDEX history_refusal ON history (company_id, subject, number) WHERE action IN ('quote.declined', 'quote.rejected');
