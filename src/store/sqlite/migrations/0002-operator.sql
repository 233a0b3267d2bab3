-- What the operator does and reads: the audit, the built-in key of the playground, when a key was last used, usage and erasure by age.

-- Append-only: one line for each change, names alone and never a value.
create table audit (
  id text primary key,
  -- admin: a call of the admin API; server: the service itself (first start, retention)
  who text not null check (who in ('admin', 'server')),
  verb text not null,
  noun text not null,
  subject_id text not null,
  -- the names of the changed fields, as a JSON list
  fields text not null,
  -- of the operator's call
  request_id text,
  created_at integer not null,
  constraint an_operator_calls check ((who = 'admin') = (request_id is not null))
) strict;
create index audit_newest_first on audit (created_at, id);
create trigger audit_is_append_only_update before update on audit begin select raise(abort, 'audit_is_append_only'); end;
create trigger audit_is_append_only_delete before delete on audit begin select raise(abort, 'audit_is_append_only'); end;

alter table api_keys add column last_used_at integer;
-- The playground's own key: it has no secret and never gets one.
alter table api_keys add column playground integer not null default 0 check (playground in (0, 1));
create unique index one_playground_key_per_agent on api_keys (agent_id) where playground = 1;

-- All that usage reads of a turn, so that a report never touches the rows themselves, which carry the messages.
create index usage_of_turns on turns (
  ended_at, state, started_at, first_delta_ms, prompt_tokens, completion_tokens, charged, agent_id, api_key_id, owner_id
) where ended_at is not null;
create index written_off_newest_first on ledger (created_at) where written_off > 0;

create index conversations_by_age on conversations (coalesce(last_message_at, created_at)) where external_user_id is not null;
create index journal_by_age on journal (created_at);
-- What is left of an erased turn's request until its record expires.
create index erased_records on turns (ended_at) where erased_at is not null and idempotency_key is not null;
create index turns_by_erasure on turns (erased_at) where erased_at is not null;
-- When the file was last written anew, so that no remnant of what was erased before is left in it.
create table rebuilds (rebuilt_at integer not null) strict;
