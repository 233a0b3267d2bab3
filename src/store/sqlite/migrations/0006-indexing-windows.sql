-- The CPU time that reading an owner's documents took in the window that started with the first of them, and, if the limit is used up, when
-- the owner's documents are claimed again.
create table indexing_windows (
  owner_id text primary key references owners,
  started_at integer not null,
  spent_ms integer not null constraint indexing_time_is_positive check (spent_ms >= 0),
  waits_until integer
) strict, without rowid;
-- An agent's next document, without reading the documents of the others.
create index documents_waiting on documents (agent_id, updated_at, id) where status = 'queued' and deleted_at is null;
