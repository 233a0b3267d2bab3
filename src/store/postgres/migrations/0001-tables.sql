-- The embedded store's tables, columns and constraints under the same names, so that the cold statements fit both and a copy is row by row.
-- Amounts are integers of 10^-8 USD; times are epoch milliseconds by this database's clock. Ids and callers' texts compare byte by byte.
-- What a turn writes names its owner, key, agent, conversation and turn without foreign keys: the functions that write it have just locked and
-- read those rows, nobody deletes them, and each key would be one more look-up and lock a row (a tenth of a turn's cost, measured). Invariants
-- I4, I13 and I15 find what they would refuse.

-- The clock: every time in this store is this one. Tests put another function in its place to move it.
create function now_ms() returns bigint language sql volatile as 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

create table owners (
  id text collate "C" primary key,
  name text not null,
  balance bigint not null default 0,
  held bigint not null default 0,
  created_at bigint not null,
  constraint balance_never_negative check (balance >= 0),
  constraint held_within_balance check (held >= 0 and held <= balance)
-- written once a batch: room on its page keeps every new row version there
) with (fillfactor = 40);

create table providers (
  id text collate "C" primary key,
  name text collate "C" not null,
  kind text not null,
  base_url text,
  -- AES-256-GCM, bound to the row; never leaves the store unsealed
  sealed_api_key bytea not null,
  created_at bigint not null,
  updated_at bigint not null
);
create unique index one_provider_per_name on providers (name);

create table agents (
  id text collate "C" primary key,
  owner_id text collate "C" not null references owners,
  version bigint not null,
  enabled integer not null default 1 check (enabled in (0, 1)),
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint
);
create index agents_of_owner on agents (owner_id);

-- A version never changes: a turn runs on its snapshot to the end.
create table agent_versions (
  agent_id text collate "C" not null references agents,
  version bigint not null,
  name text not null,
  model text collate "C" not null,
  -- the rest of what the operator wrote, as JSON
  config text not null,
  -- the stored numbers of billing.hold, in tokens
  fixed_tokens bigint not null check (fixed_tokens >= 0),
  history_max_tokens bigint not null check (history_max_tokens >= 0),
  knowledge_max_tokens bigint not null check (knowledge_max_tokens >= 0),
  max_output_tokens bigint not null check (max_output_tokens > 0),
  max_message_length bigint not null check (max_message_length > 0),
  -- 10^-8 USD per million tokens
  prompt_price bigint not null check (prompt_price >= 0),
  completion_price bigint not null check (completion_price >= 0),
  created_at bigint not null,
  primary key (agent_id, version)
);

create table api_keys (
  id text collate "C" primary key,
  -- the public part: svc_live_<key_id>.<secret>
  key_id text collate "C" not null,
  agent_id text collate "C" not null references agents,
  name text,
  permission text not null check (permission in ('full', 'read-only')),
  rate_limit bigint not null check (rate_limit > 0),
  rate_window_seconds bigint not null check (rate_window_seconds > 0),
  created_at bigint not null,
  revoked_at bigint,
  last_used_at bigint,
  -- The playground's own key: it has no secret and never gets one.
  playground integer not null default 0 check (playground in (0, 1))
);
create unique index one_api_key_per_key_id on api_keys (key_id);
create index api_keys_of_agent on api_keys (agent_id);
create unique index one_playground_key_per_agent on api_keys (agent_id) where playground = 1;

-- Two live secrets may stand under one key, so that a secret can be rotated without losing anybody's history.
create table api_key_secrets (
  digest bytea primary key,
  api_key_id text collate "C" not null references api_keys,
  created_at bigint not null,
  expires_at bigint
);
create index secrets_of_api_key on api_key_secrets (api_key_id);

create table conversations (
  id text collate "C" primary key,
  api_key_id text collate "C" not null references api_keys,
  -- null once erased: the user's next message opens a new conversation
  external_user_id text collate "C",
  message_count bigint not null default 0,
  -- the stored sum of billing.hold: what all messages together count in a history
  message_tokens bigint not null default 0,
  created_at bigint not null,
  last_message_at bigint
) with (fillfactor = 80);
create unique index one_conversation_per_end_user on conversations (api_key_id, external_user_id);
create index conversations_newest_first on conversations (api_key_id, created_at, id);
-- by its beginning and not by its last message, which each turn writes: an index over that would be written with it
create index conversations_by_age on conversations (created_at, id) where external_user_id is not null;

-- The turn row is the idempotency record, the busy lock, the lease and the truth of its hold.
create table turns (
  request_id text collate "C" primary key,
  api_key_id text collate "C" not null,
  -- cleared 24 hours after the turn's end, inside an admission
  idempotency_key text collate "C",
  fingerprint bytea not null,
  conversation_id text collate "C" not null,
  owner_id text collate "C" not null,
  agent_id text collate "C" not null,
  agent_version bigint not null,
  state text collate "C" not null check (state in ('running', 'completed', 'failed', 'released')),
  run bigint not null check (run >= 1),
  -- `retry.continues`: the first run whose tool calls with side effects are finished; the journal counts from there. Null: a retry starts afresh.
  continues_from bigint constraint continues_from_a_run check (continues_from between 1 and run),
  attempt bigint not null check (attempt between 1 and 3),
  fence bigint not null check (fence >= 1),
  lease_until bigint,
  -- the call that admitted or claimed this run: asked again, because its answer was lost, it finds its own turn by this
  holder text collate "C",
  hold bigint not null check (hold >= 0),
  prompt_price bigint not null,
  completion_price bigint not null,
  -- null once erased
  message text,
  message_tokens bigint not null,
  failure_code text,
  failure_cause text,
  prompt_tokens bigint,
  completion_tokens bigint,
  usage_estimated integer check (usage_estimated in (0, 1)),
  charged bigint check (charged >= 0),
  first_delta_ms bigint,
  erased_at bigint,
  created_at bigint not null,
  started_at bigint not null,
  ended_at bigint,
  constraint running_has_lease check ((state = 'running') = (lease_until is not null)),
  constraint ended_has_no_hold check (state = 'running' or hold = 0),
  constraint ended_has_an_end check ((state = 'running') = (ended_at is null)),
  constraint completed_has_a_charge check ((state = 'completed') = (charged is not null))
-- settlement writes each row once more
) with (fillfactor = 70);
create unique index one_turn_per_key on turns (api_key_id, idempotency_key) where idempotency_key is not null;
create unique index one_running_turn_per_conversation on turns (conversation_id) where state = 'running';
create index running_turns on turns (lease_until) where state = 'running';
-- the agent at the end, so that the turns of a small one are found without reading those of the others
create index turns_newest_first on turns (created_at, request_id, agent_id);
-- what an operator looks for among millions of completed ones
create index unusual_turns_newest_first on turns (state, created_at, request_id, agent_id) where state in ('failed', 'released');
create index turns_of_conversation on turns (conversation_id);
-- All that usage reads of a turn, so that a report never touches the rows themselves, which carry the messages.
create index usage_of_turns on turns (ended_at)
  include (state, started_at, first_delta_ms, prompt_tokens, completion_tokens, charged, agent_id, api_key_id, owner_id)
  where ended_at is not null;
create index turns_by_erasure on turns (erased_at) where erased_at is not null;
-- What is left of an erased turn's request until its record expires.
create index erased_records on turns (ended_at) where erased_at is not null and idempotency_key is not null;

create table messages (
  id text collate "C" primary key,
  conversation_id text collate "C" not null,
  -- 1, 2, 3 …: a user's message is odd, its reply the even number after it
  seq bigint not null check (seq >= 1),
  role text not null,
  content text not null,
  tokens bigint not null check (tokens >= 0),
  -- JSON, for the operator alone; null where a reply leans on nothing
  citations text constraint only_replies_cite check (citations is null or role = 'assistant'),
  request_id text collate "C" not null,
  created_at bigint not null,
  constraint roles_alternate check (role = case seq % 2 when 1 then 'user' else 'assistant' end)
);
create unique index one_place_per_message on messages (conversation_id, seq);
create unique index one_message_per_role_and_turn on messages (request_id, role);

-- Append-only: a trigger refuses changes. balance = the sum of amount.
create table ledger (
  id text collate "C" primary key,
  owner_id text collate "C" not null,
  kind text not null check (kind in ('credit', 'adjustment', 'charge')),
  amount bigint not null,
  -- what a provider reported beyond the hold and nobody paid
  written_off bigint not null default 0 check (written_off >= 0),
  request_id text collate "C",
  -- of the operator's call, so that an entry is made once
  idempotency_key text collate "C",
  note text,
  created_at bigint not null,
  constraint charge_names_its_turn check ((kind = 'charge') = (request_id is not null)),
  constraint sign_fits_kind check (case kind when 'credit' then amount > 0 when 'adjustment' then amount < 0 else amount <= 0 end)
);
create unique index one_charge_per_turn on ledger (request_id) where kind = 'charge';
create unique index one_entry_per_key on ledger (owner_id, idempotency_key) where idempotency_key is not null;
create index ledger_newest_first on ledger (owner_id, created_at, id);
create index written_off_newest_first on ledger (created_at) where written_off > 0;

-- Steps that did not end their turn, so that recovery neither pays nor does them again.
create table journal (
  request_id text collate "C" not null references turns,
  run bigint not null,
  step bigint not null,
  -- which tool call of the step; 0 for the model's own part
  part bigint not null,
  kind text collate "C" not null check (kind in ('model', 'tool_started', 'tool_finished')),
  payload text not null,
  created_at bigint not null,
  primary key (request_id, run, step, part, kind)
);
create index journal_by_age on journal (created_at);

create table documents (
  id text collate "C" primary key,
  agent_id text collate "C" not null references agents,
  title text not null,
  bytes bigint not null,
  status text not null check (status in ('queued', 'indexing', 'ready', 'failed')),
  created_at bigint not null
);
create index documents_of_agent on documents (agent_id, created_at, id);

-- Words by their English stem, none left out: what counts little is left out of a question, not of the index.
create text search dictionary turnkeep_stem (template = snowball, language = english);
create text search configuration turnkeep (copy = simple);
alter text search configuration turnkeep alter mapping for asciiword, word, numword, hword, asciihword with turnkeep_stem;

create table chunks (
  id bigint generated by default as identity primary key,
  document_id text collate "C" not null references documents,
  agent_id text collate "C" not null references agents,
  position bigint not null,
  text text not null,
  -- The words of title, headings and text, and the agent's id as one more word: it is a term of the match, not a filter after it.
  terms tsvector not null
);
create index chunks_of_document on chunks (document_id, position);
create index chunk_terms on chunks using gin (terms);

-- Append-only: one line for each change, names alone and never a value.
create table audit (
  id text collate "C" primary key,
  -- admin: a call of the admin API; server: the service itself (first start, retention)
  who text not null check (who in ('admin', 'server')),
  verb text not null,
  noun text not null,
  subject_id text collate "C" not null,
  -- the names of the changed fields, as a JSON list
  fields text not null,
  -- of the operator's call
  request_id text collate "C",
  created_at bigint not null,
  constraint an_operator_calls check ((who = 'admin') = (request_id is not null))
);
create index audit_newest_first on audit (created_at, id);

-- Rate windows where there is no Redis. Not logged, and its commits wait for no disk: a crash of the database opens the windows anew.
create unlogged table rate_windows (
  api_key_id text collate "C" primary key,
  opened_at bigint not null,
  ends_at bigint not null,
  spent bigint not null
) with (fillfactor = 50);

-- What must never happen, told under the rule's name.
create function refuse_change() returns trigger language plpgsql as $$ begin raise exception '%', tg_name; end $$;
create trigger ledger_is_append_only_update before update on ledger for each row execute function refuse_change();
create trigger ledger_is_append_only_delete before delete on ledger for each row execute function refuse_change();
create trigger audit_is_append_only_update before update on audit for each row execute function refuse_change();
create trigger audit_is_append_only_delete before delete on audit for each row execute function refuse_change();
create trigger ended_turns_never_change before update of state on turns for each row
  when (old.state in ('completed', 'failed') and new.state <> old.state) execute function refuse_change();
create trigger fence_never_falls before update of fence on turns for each row
  when (new.fence < old.fence) execute function refuse_change();
