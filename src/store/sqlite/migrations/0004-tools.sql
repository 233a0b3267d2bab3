-- What tools ask of a turn: a run that goes on where an earlier one stood, and replies that say what they lean on.

-- `retry.continues`: the first run whose tool calls with side effects are finished; the journal counts from there. Null: a retry starts afresh.
alter table turns add column continues_from integer constraint continues_from_a_run check (continues_from between 1 and run);
-- JSON, for the operator alone; null where a reply leans on nothing.
alter table messages add column citations text constraint only_replies_cite check (citations is null or role = 'assistant');
