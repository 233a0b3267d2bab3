-- Amounts are integers of 10^-8 USD; times are epoch milliseconds by the writer's clock.

create table owners (
  id text primary key,
  name text not null,
  balance integer not null default 0,
  held integer not null default 0,
  created_at integer not null,
  constraint balance_never_negative check (balance >= 0),
  constraint held_within_balance check (held >= 0 and held <= balance)
) strict;

create table providers (
  id text primary key,
  name text not null,
  kind text not null,
  base_url text,
  -- AES-256-GCM, bound to the row; never leaves the store unsealed
  sealed_api_key blob not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create unique index one_provider_per_name on providers (name);

create table agents (
  id text primary key,
  owner_id text not null references owners,
  version integer not null,
  enabled integer not null default 1 check (enabled in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create index agents_of_owner on agents (owner_id);

-- A version never changes: a turn runs on its snapshot to the end.
create table agent_versions (
  agent_id text not null references agents,
  version integer not null,
  name text not null,
  model text not null,
  -- the rest of what the operator wrote, as JSON
  config text not null,
  -- the stored numbers of billing.hold, in tokens
  fixed_tokens integer not null check (fixed_tokens >= 0),
  history_max_tokens integer not null check (history_max_tokens >= 0),
  knowledge_max_tokens integer not null check (knowledge_max_tokens >= 0),
  max_output_tokens integer not null check (max_output_tokens > 0),
  max_message_length integer not null check (max_message_length > 0),
  -- 10^-8 USD per million tokens
  prompt_price integer not null check (prompt_price >= 0),
  completion_price integer not null check (completion_price >= 0),
  created_at integer not null,
  primary key (agent_id, version)
) strict, without rowid;

create table api_keys (
  id text primary key,
  -- the public part: svc_live_<key_id>.<secret>
  key_id text not null,
  agent_id text not null references agents,
  name text,
  permission text not null check (permission in ('full', 'read-only')),
  rate_limit integer not null check (rate_limit > 0),
  rate_window_seconds integer not null check (rate_window_seconds > 0),
  created_at integer not null,
  revoked_at integer
) strict;
create unique index one_api_key_per_key_id on api_keys (key_id);
create index api_keys_of_agent on api_keys (agent_id);

-- Two live secrets may stand under one key, so that a secret can be rotated without losing anybody's history.
create table api_key_secrets (
  digest blob primary key,
  api_key_id text not null references api_keys,
  created_at integer not null,
  expires_at integer
) strict;
create index secrets_of_api_key on api_key_secrets (api_key_id);

create table conversations (
  id text primary key,
  api_key_id text not null references api_keys,
  -- null once erased: the user's next message opens a new conversation
  external_user_id text,
  message_count integer not null default 0,
  -- the stored sum of billing.hold: what all messages together count in a history
  message_tokens integer not null default 0,
  created_at integer not null,
  last_message_at integer
) strict;
create unique index one_conversation_per_end_user on conversations (api_key_id, external_user_id);
create index conversations_newest_first on conversations (api_key_id, created_at, id);

-- The turn row is the idempotency record, the busy lock, the lease and the truth of its hold.
create table turns (
  request_id text primary key,
  api_key_id text not null references api_keys,
  -- cleared 24 hours after the turn's end, inside an admission
  idempotency_key text,
  fingerprint blob not null,
  conversation_id text not null references conversations,
  owner_id text not null references owners,
  agent_id text not null references agents,
  agent_version integer not null,
  -- not `in (…)`: of more than two values SQLite makes a table at each insert, which cost a turn a twelfth
  state text not null check (state = 'running' or state = 'completed' or state = 'failed' or state = 'released'),
  run integer not null check (run >= 1),
  attempt integer not null check (attempt between 1 and 3),
  fence integer not null check (fence >= 1),
  lease_until integer,
  hold integer not null check (hold >= 0),
  prompt_price integer not null,
  completion_price integer not null,
  -- null once erased
  message text,
  message_tokens integer not null,
  failure_code text,
  failure_cause text,
  prompt_tokens integer,
  completion_tokens integer,
  usage_estimated integer check (usage_estimated in (0, 1)),
  charged integer check (charged >= 0),
  first_delta_ms integer,
  erased_at integer,
  created_at integer not null,
  started_at integer not null,
  ended_at integer,
  foreign key (agent_id, agent_version) references agent_versions (agent_id, version),
  constraint running_has_lease check ((state = 'running') = (lease_until is not null)),
  constraint ended_has_no_hold check (state = 'running' or hold = 0),
  constraint ended_has_an_end check ((state = 'running') = (ended_at is null)),
  constraint completed_has_a_charge check ((state = 'completed') = (charged is not null))
) strict;
create unique index one_turn_per_key on turns (api_key_id, idempotency_key) where idempotency_key is not null;
create unique index one_running_turn_per_conversation on turns (conversation_id) where state = 'running';
create index running_turns on turns (lease_until) where state = 'running';
create index turns_newest_first on turns (created_at, request_id);
create index turns_of_conversation on turns (conversation_id);

create table messages (
  id text primary key,
  conversation_id text not null references conversations,
  -- 1, 2, 3 …: a user's message is odd, its reply the even number after it
  seq integer not null check (seq >= 1),
  role text not null,
  content text not null,
  tokens integer not null check (tokens >= 0),
  request_id text not null references turns,
  created_at integer not null,
  constraint roles_alternate check (role = case seq % 2 when 1 then 'user' else 'assistant' end)
) strict;
create unique index one_place_per_message on messages (conversation_id, seq);
create unique index one_message_per_role_and_turn on messages (request_id, role);

-- Append-only: a trigger refuses changes. balance = the sum of amount.
create table ledger (
  id text primary key,
  owner_id text not null references owners,
  kind text not null check (kind = 'credit' or kind = 'adjustment' or kind = 'charge'),
  amount integer not null,
  -- what a provider reported beyond the hold and nobody paid
  written_off integer not null default 0 check (written_off >= 0),
  request_id text references turns,
  -- of the operator's call, so that an entry is made once
  idempotency_key text,
  note text,
  created_at integer not null,
  constraint charge_names_its_turn check ((kind = 'charge') = (request_id is not null)),
  constraint sign_fits_kind check (case kind when 'credit' then amount > 0 when 'adjustment' then amount < 0 else amount <= 0 end)
) strict;
create unique index one_charge_per_turn on ledger (request_id) where kind = 'charge';
create unique index one_entry_per_key on ledger (owner_id, idempotency_key) where idempotency_key is not null;
create index ledger_newest_first on ledger (owner_id, created_at, id);

create trigger ledger_is_append_only_update before update on ledger begin select raise(abort, 'ledger_is_append_only'); end;
create trigger ledger_is_append_only_delete before delete on ledger begin select raise(abort, 'ledger_is_append_only'); end;
create trigger ended_turns_never_change before update of state on turns
  when old.state in ('completed', 'failed') and new.state <> old.state
  begin select raise(abort, 'ended_turns_never_change'); end;
create trigger fence_never_falls before update of fence on turns when new.fence < old.fence
  begin select raise(abort, 'fence_never_falls'); end;

-- Steps that did not end their turn, so that recovery neither pays nor does them again.
create table journal (
  request_id text not null references turns,
  run integer not null,
  step integer not null,
  -- which tool call of the step; 0 for the model's own part
  part integer not null,
  kind text not null check (kind = 'model' or kind = 'tool_started' or kind = 'tool_finished'),
  payload text not null,
  created_at integer not null,
  primary key (request_id, run, step, part, kind)
) strict, without rowid;

create table documents (
  id text primary key,
  agent_id text not null references agents,
  title text not null,
  bytes integer not null,
  status text not null check (status in ('queued', 'indexing', 'ready', 'failed')),
  created_at integer not null
) strict;
create index documents_of_agent on documents (agent_id, created_at, id);

create table chunks (
  id integer primary key,
  document_id text not null references documents,
  agent_id text not null references agents,
  position integer not null,
  text text not null
) strict;
create index chunks_of_document on chunks (document_id, position);

-- The agent's id, without its underscore, is an indexed term of the match, not a filter after it. The text itself is in chunks alone.
create virtual table chunk_terms using fts5 (
  agent, title, text, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2"
);
