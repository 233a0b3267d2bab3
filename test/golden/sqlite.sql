CREATE TABLE admin_tokens (
  id text primary key,
  digest blob not null constraint token_digest_is_whole check (length(digest) = 32),
  name text not null,
  role text not null check (role in ('admin', 'editor', 'billing', 'viewer')),
  permissions text not null default '[]',
  owner_id text references owners,
  agent_id text references agents constraint an_agent_has_an_owner check (agent_id is null or owner_id is not null),
  created_at integer not null,
  expires_at integer constraint token_expires_later check (expires_at > created_at),
  revoked_at integer,
  last_used_at integer
) strict;

CREATE UNIQUE INDEX one_admin_token_per_digest on admin_tokens (digest);

CREATE TABLE agent_versions (
  agent_id text not null references agents,
  version integer not null,
  name text not null,
  model text not null,
  -- the operator's other fields, as JSON
  config text not null,
  -- the name in front of the embedding model, or null
  embedding_provider text generated always as (substr(config ->> '$.embeddingModel', 1, instr(config ->> '$.embeddingModel', '/') - 1)) virtual,
  -- the numbers that `billing.hold` needs, in tokens
  fixed_tokens integer not null check (fixed_tokens >= 0),
  history_max_tokens integer not null check (history_max_tokens >= 0),
  knowledge_max_tokens integer not null check (knowledge_max_tokens >= 0),
  max_output_tokens integer not null check (max_output_tokens > 0),
  max_message_length integer not null check (max_message_length > 0),
  -- 10^-8 USD per million tokens
  prompt_price integer not null check (prompt_price >= 0),
  completion_price integer not null check (completion_price >= 0),
  -- `billing.token-kinds`: of prompt tokens that the provider read from its cache and wrote to it; null: the prompt price
  cached_prompt_price integer check (cached_prompt_price >= 0),
  cache_write_price integer check (cache_write_price >= 0),
  created_at integer not null,
  primary key (agent_id, version)
) strict, without rowid;

CREATE TABLE agents (
  id text primary key,
  owner_id text not null references owners,
  version integer not null,
  -- `billing.unpaid`: what a turn needed when the balance ran out; later turns hold at least this, until a credit or a new version
  min_hold integer not null default 0 check (min_hold >= 0),
  enabled integer not null default 1 check (enabled in (0, 1)),
  -- `billing.spend-limit`: a JSON list (src/spend-limits.ts). Not part of a version, so that a change applies to the next message.
  spend_limits text not null default '[]',
  -- 1 if the agent, or one of its end users, has limits
  limited integer not null default 0 constraint limits_count check (limited = 1 or (limited = 0 and spend_limits = '[]')),
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;

CREATE INDEX agents_of_owner on agents (owner_id);

CREATE TABLE api_key_secrets (
  digest blob primary key,
  api_key_id text not null references api_keys,
  created_at integer not null,
  expires_at integer
) strict;

CREATE INDEX secrets_of_api_key on api_key_secrets (api_key_id);

CREATE TABLE api_keys (
  id text primary key,
  -- the public part: svc_live_<key_id>.<secret>
  key_id text not null,
  agent_id text not null references agents,
  name text,
  permission text not null check (permission in ('full', 'read-only')),
  rate_limit integer not null check (rate_limit > 0),
  rate_window_seconds integer not null check (rate_window_seconds > 0),
  -- the end user of requests that name none, in protocols that allow it
  default_external_user_id text,
  -- whether the key may call the agent as an MCP server
  mcp integer not null default 1 check (mcp in (0, 1)),
  created_at integer not null,
  revoked_at integer,
  last_used_at integer,
  -- 1 for the key of the playground, which never has a secret
  playground integer not null default 0 check (playground in (0, 1))
) strict;

CREATE INDEX api_keys_of_agent on api_keys (agent_id);

CREATE UNIQUE INDEX one_api_key_per_key_id on api_keys (key_id);

CREATE UNIQUE INDEX one_playground_key_per_agent on api_keys (agent_id) where playground = 1;

CREATE TABLE audit (
  id text primary key,
  -- server: the service itself (first start, retention)
  who text not null check (who in ('admin_token', 'operator', 'token', 'server')),
  -- the operator or the token, with its name at that time
  author_id text,
  author_name text,
  verb text not null,
  noun text not null,
  subject_id text not null,
  -- the names of the changed fields, as a JSON list
  fields text not null,
  -- JSON: for each changed field that is not secret, its values before and after. Null: none.
  changes text,
  -- of the call
  request_id text,
  created_at integer not null,
  constraint a_call_has_an_id check (who = 'server' or request_id is not null),
  constraint an_author_is_named check ((who in ('operator', 'token')) = (author_id is not null) and (author_id is null) = (author_name is null)),
  constraint changes_are_of_fields check (changes is null or fields <> '[]')
) strict;

CREATE INDEX audit_newest_first on audit (created_at, id);

CREATE INDEX audit_of_author on audit (author_id, created_at, id);

CREATE INDEX audit_of_noun on audit (noun, created_at, id);

CREATE INDEX audit_of_subject on audit (subject_id, created_at, id);

CREATE TRIGGER audit_is_append_only_delete before delete on audit begin select raise(abort, 'audit_is_append_only'); end;

CREATE TRIGGER audit_is_append_only_update before update on audit begin select raise(abort, 'audit_is_append_only'); end;

CREATE VIRTUAL TABLE chunk_terms using fts5 (
  title, text, content = '', contentless_delete = 1, tokenize = "ascii tokenchars ':'"
);

CREATE TABLE chunk_vectors (
  chunk_id integer primary key references chunks,
  -- Float32, little-endian, of unit length
  vector blob not null check (length(vector) between 4 and 65536 and length(vector) % 4 = 0)
) strict;

CREATE VIRTUAL TABLE chunk_words using fts5vocab ('chunk_terms', 'row');

CREATE TABLE chunks (
  id integer primary key,
  document_id text not null references documents,
  agent_id text not null references agents,
  position integer not null,
  text text not null,
  generation integer not null default 0,
  headings text not null default '',
  -- the number of words that its title, headings and text have in the full-text index
  words integer not null default 0
) strict;

CREATE UNIQUE INDEX one_chunk_per_place on chunks (document_id, generation, position);

CREATE TABLE console_sessions (
  -- of the cookie's secret. Of a sign-in with the admin token, keyed with it: a new token ends those sessions.
  digest blob not null primary key constraint session_digest_is_whole check (length(digest) = 32),
  -- the ID in the audit
  id text not null unique,
  -- null: signed in with the admin token
  operator_id text references operators,
  method text not null check (method in ('admin_token', 'password', 'passkey', 'oidc', 'link')),
  -- the network address and the User-Agent header of the sign-in
  address text,
  user_agent text,
  created_at integer not null,
  expires_at integer not null,
  constraint session_ends check (expires_at > created_at),
  constraint a_session_belongs_to_someone check ((operator_id is null) = (method = 'admin_token'))
) strict;

CREATE INDEX sessions_of_operator on console_sessions (operator_id) where operator_id is not null;

CREATE TABLE content_parts (
  content_id text not null references contents,
  part integer not null check (part >= 0),
  bytes blob not null constraint content_parts_are_small check (length(bytes) <= 262144),
  primary key (content_id, part)
) strict;

CREATE TABLE contents (
  id text primary key,
  document_id text references documents,
  unused_since integer,
  -- SHA-256 in hex of the whole content as it was uploaded, so that the same content need not be uploaded again
  sha256 text constraint digest_is_whole check (length(sha256) = 64),
  constraint content_is_used_or_waits check ((document_id is null) = (unused_since is not null))
) strict;

CREATE INDEX contents_unused on contents (unused_since) where unused_since is not null;

CREATE UNIQUE INDEX one_content_per_document on contents (document_id) where document_id is not null;

CREATE TABLE conversations (
  id text primary key,
  api_key_id text not null references api_keys,
  -- null after an erasure: the next message of the user starts a new conversation
  external_user_id text,
  message_count integer not null default 0,
  -- the sum of the messages' tokens, which `billing.hold` needs
  message_tokens integer not null default 0,
  created_at integer not null,
  last_message_at integer
) strict;

CREATE INDEX conversations_by_age on conversations (coalesce(last_message_at, created_at)) where external_user_id is not null;

CREATE INDEX conversations_newest_first on conversations (api_key_id, created_at, id);

CREATE INDEX conversations_of_all_keys on conversations (created_at, id, api_key_id);

CREATE UNIQUE INDEX one_conversation_per_end_user on conversations (api_key_id, external_user_id);

CREATE TABLE deliveries (
  event_id text not null references events,
  -- deleted webhooks leave their deliveries behind, which are not sent
  webhook_id text not null,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0 check (attempts >= 0),
  -- when a pending delivery is due. A claim sets it to the end of its lease, so it is due again if its process dies.
  next_at integer not null,
  -- raised by each claim: only the last one stores its result
  fence integer not null default 0 check (fence >= 0),
  -- of the last attempt: the status of the response, and why it is a failure, never in the receiver's words
  status integer,
  error text,
  created_at integer not null,
  ended_at integer,
  primary key (event_id, webhook_id),
  constraint ended_delivery_has_an_end check ((state = 'pending') = (ended_at is null))
) strict, without rowid;

CREATE INDEX deliveries_due on deliveries (webhook_id, next_at) where state = 'pending';

CREATE INDEX deliveries_of_webhook on deliveries (webhook_id, state, created_at, event_id);

CREATE TRIGGER delivery_fence_never_falls before update of fence on deliveries when new.fence < old.fence
  begin select raise(abort, 'delivery_fence_never_falls'); end;

CREATE TABLE discarded_generations (
  document_id text not null references documents,
  generation integer not null,
  primary key (document_id, generation)
) strict, without rowid;

CREATE TABLE documents (
  id text primary key,
  agent_id text not null references agents,
  title text not null,
  bytes integer not null,
  status text not null check (status in ('queued', 'indexing', 'ready', 'failed')),
  created_at integer not null,
  source text not null default 'text' check (source in ('file', 'text', 'url')),
  media_type text,
  file_name text,
  url text constraint an_address_is_fetched check ((source = 'url') = (url is not null)),
  content_id text,
  updated_at integer not null default 0,
  indexed_at integer,
  -- not found by any search or list; the row is deleted after its chunks
  deleted_at integer,
  attempt integer not null default 0 constraint three_attempts check (attempt between 0 and 3),
  fence integer not null default 0,
  holder text,
  lease_until integer
    constraint indexing_has_lease check ((status = 'indexing') = (lease_until is not null) and (status = 'indexing') = (holder is not null)),
  progress integer
    constraint progress_while_indexing check ((status = 'indexing') = (progress is not null) and progress between 0 and 100),
  reason text constraint failed_has_reason check ((status = 'failed') = (reason is not null)),
  -- the generation that searches find: the fence of the claim that wrote it, 0 for none
  generation integer not null default 0
    constraint deleted_serves_nothing check (generation between 0 and fence and (deleted_at is null or generation = 0)),
  chunks integer not null default 0 constraint chunks_of_what_serves check (chunks >= 0 and (generation > 0 or chunks = 0)),
  -- the title of that generation: if a replacement fails, the previous text keeps its title
  serving_title text,
  language text,
  embedding_model text,
  -- those of the generation that the latest claim writes
  next_language text,
  next_embedding_model text,
  -- the revision of the knowledge base when that generation last changed
  revision integer not null default 0
, warnings text not null default '[]', terms_version integer not null default 1, terms_generation integer not null default 0, terms_position integer not null default 0) strict;

CREATE INDEX documents_by_revision on documents (agent_id, revision);

CREATE INDEX documents_deleted on documents (id) where deleted_at is not null;

CREATE INDEX documents_failed on documents (updated_at, id, agent_id) where status = 'failed';

CREATE INDEX documents_in_work on documents (status, updated_at, id) where status in ('queued', 'indexing');

CREATE INDEX documents_of_agent on documents (agent_id, created_at, id);

CREATE INDEX documents_serving on documents (agent_id, language) where generation > 0;

CREATE INDEX documents_waiting on documents (agent_id, updated_at, id) where status = 'queued' and deleted_at is null;

CREATE INDEX documents_with_previous_terms on documents (agent_id, id)
  where generation > 0 and (terms_version <> 2 or terms_generation <> generation or terms_position < chunks);

CREATE TRIGGER document_fence_never_falls before update on documents when new.fence < old.fence
  begin select raise(abort, 'document_fence_never_falls'); end;

CREATE TABLE end_user_limits (
  agent_id text not null references agents,
  external_user_id text not null,
  spend_limits text not null,
  updated_at integer not null,
  primary key (agent_id, external_user_id)
) strict, without rowid;

CREATE TABLE events (
  id text primary key,
  type text not null,
  subject text not null,
  owner_id text not null,
  agent_id text,
  occurred_at integer not null,
  constraint event_id_is_type_and_subject check (id = 'evt_' || subject || '_' || replace(type, '.', '_'))
) strict, without rowid;

CREATE INDEX events_by_age on events (occurred_at, id);

CREATE TABLE feedback (
  request_id text primary key references turns,
  agent_id text not null references agents,
  rating text not null check (rating in ('up', 'down')),
  comment text,
  -- a JSON list of texts
  tags text not null,
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;

CREATE INDEX feedback_newest_first on feedback (updated_at, request_id, agent_id);

CREATE TABLE indexing_windows (
  owner_id text primary key references owners,
  started_at integer not null,
  spent_ms integer not null constraint indexing_time_is_positive check (spent_ms >= 0),
  waits_until integer
) strict, without rowid;

CREATE TABLE journal (
  request_id text not null references turns,
  run integer not null,
  step integer not null,
  -- the number of the tool call within the step; 0 for the model's answer
  part integer not null,
  kind text not null check (kind = 'model' or kind = 'tool_started' or kind = 'tool_finished'),
  payload text not null,
  created_at integer not null,
  -- the run is last, so that one look-up finds an entry of any run that the turn continues
  primary key (request_id, step, part, kind, run)
) strict, without rowid;

CREATE INDEX journal_by_age on journal (created_at);

CREATE TABLE knowledge_bases (
  agent_id text primary key references agents,
  number integer not null unique,
  documents integer not null default 0 constraint knowledge_is_bounded check (documents between 0 and 10000),
  -- the chunks and words that BM25 counts, including those of generations that are being deleted
  chunks integer not null default 0 check (chunks >= 0),
  words integer not null default 0 check (words >= 0),
  revision integer not null default 0,
  -- the revision of the newest deleted document whose row is gone: a process with an older revision must read all documents again
  cleared_revision integer not null default 0
) strict;

CREATE TRIGGER knowledge_revision_never_falls before update on knowledge_bases when new.revision < old.revision
  begin select raise(abort, 'knowledge_revision_never_falls'); end;

CREATE TABLE ledger (
  id text primary key,
  owner_id text not null references owners,
  kind text not null check (kind = 'credit' or kind = 'adjustment' or kind = 'charge'),
  amount integer not null,
  -- the cost above the hold, which is not charged
  written_off integer not null default 0 check (written_off >= 0),
  request_id text references turns,
  -- of the operator's call, so that an entry is added once
  idempotency_key text,
  note text,
  created_at integer not null,
  constraint charge_names_its_turn check ((kind = 'charge') = (request_id is not null)),
  constraint sign_fits_kind check (case kind when 'credit' then amount > 0 when 'adjustment' then amount < 0 else amount <= 0 end)
) strict;

CREATE INDEX ledger_newest_first on ledger (owner_id, created_at, id);

CREATE INDEX ledger_of_all_owners on ledger (created_at, id);

CREATE INDEX ledger_of_operators on ledger (created_at, id, owner_id) where kind <> 'charge';

CREATE UNIQUE INDEX one_charge_per_turn on ledger (request_id) where kind = 'charge';

CREATE UNIQUE INDEX one_entry_per_key on ledger (owner_id, idempotency_key) where idempotency_key is not null;

CREATE INDEX written_off_newest_first on ledger (created_at) where written_off > 0;

CREATE TRIGGER ledger_is_append_only_delete before delete on ledger begin select raise(abort, 'ledger_is_append_only'); end;

CREATE TRIGGER ledger_is_append_only_update before update on ledger begin select raise(abort, 'ledger_is_append_only'); end;

CREATE TABLE messages (
  id text primary key,
  conversation_id text not null references conversations,
  -- 1, 2, 3 …: the user's message has an odd number, its reply the next one
  seq integer not null check (seq >= 1),
  role text not null,
  content text not null,
  tokens integer not null check (tokens >= 0),
  request_id text not null references turns,
  created_at integer not null,
  -- JSON, for the operator only; null for a reply without citations
  citations text constraint only_replies_cite check (citations is null or role = 'assistant'),
  constraint roles_alternate check (role = case seq % 2 when 1 then 'user' else 'assistant' end)
) strict;

CREATE UNIQUE INDEX one_message_per_role_and_turn on messages (request_id, role);

CREATE UNIQUE INDEX one_place_per_message on messages (conversation_id, seq);

CREATE TABLE migrations (name text primary key, checksum text not null, applied_at integer not null) strict;

CREATE TABLE operators (
  id text primary key,
  -- in lower case
  email text not null constraint email_in_lower_case check (email = lower(email)),
  name text not null,
  role text not null check (role in ('admin', 'editor', 'billing', 'viewer')),
  -- permissions beyond those of the role, as a JSON list
  permissions text not null default '[]',
  -- only what belongs to this owner; null: everything
  owner_id text references owners,
  state text not null check (state in ('invited', 'active', 'disabled')),
  -- scrypt with its parameters and salt; null without a password
  password_hash text,
  -- who the operator is at the company's identity provider
  oidc_issuer text,
  oidc_subject text,
  created_at integer not null,
  updated_at integer not null,
  last_sign_in_at integer,
  -- An operator signs in with the company account alone, or without it (operator.oidc).
  constraint company_account_replaces_password check (oidc_subject is null or password_hash is null),
  constraint oidc_identity_is_whole check ((oidc_issuer is null) = (oidc_subject is null)),
  constraint invited_cannot_sign_in check (state <> 'invited' or (password_hash is null and oidc_subject is null))
) strict;

CREATE UNIQUE INDEX one_operator_per_email on operators (email);

CREATE UNIQUE INDEX one_operator_per_oidc_identity on operators (oidc_issuer, oidc_subject) where oidc_subject is not null;

CREATE TABLE owners (
  id text primary key,
  name text not null,
  balance integer not null default 0,
  held integer not null default 0,
  -- `billing.unpaid`: what turns without a reply used and their callers can cause; not available until credits of the same amount are posted
  unpaid integer not null default 0 constraint unpaid_never_negative check (unpaid >= 0),
  -- what credits have made available again, less what adjustments have reserved again
  cleared integer not null default 0 constraint cleared_never_negative check (cleared >= 0),
  -- `balance.low` is reported when a charge or adjustment brings the balance below this; null: never
  low_balance integer check (low_balance >= 0),
  created_at integer not null,
  constraint balance_never_negative check (balance >= 0),
  constraint held_within_balance check (held >= 0 and held <= balance)
) strict;

CREATE TABLE passkeys (
  -- of the credential, base64url
  id text primary key,
  operator_id text not null references operators,
  name text not null,
  public_key blob not null,
  -- of the last sign-in: a lower one is a copy of the authenticator
  counter integer not null check (counter >= 0),
  -- a JSON list
  transports text not null,
  created_at integer not null,
  last_used_at integer
) strict;

CREATE INDEX passkeys_of_operator on passkeys (operator_id, created_at);

CREATE TRIGGER passkey_counter_never_falls before update of counter on passkeys when new.counter < old.counter
  begin select raise(abort, 'passkey_counter_never_falls'); end;

CREATE TABLE providers (
  id text primary key,
  name text not null,
  kind text not null,
  base_url text,
  -- AES-256-GCM, bound to the row and to the server of base_url; only leaves the store encrypted
  sealed_api_key blob not null,
  created_at integer not null,
  updated_at integer not null
) strict;

CREATE UNIQUE INDEX one_provider_per_name on providers (name);

CREATE TRIGGER provider_in_use_keeps_its_name before update of name on providers
  when new.name <> old.name and exists (select 1 from providers_in_use where id = old.id)
  begin select raise(abort, 'provider_in_use_keeps_its_name'); end;

CREATE TRIGGER provider_in_use_stays before delete on providers
  when exists (select 1 from providers_in_use where id = old.id)
  begin select raise(abort, 'provider_in_use_stays'); end;

CREATE VIEW providers_in_use as
  select p.id, a.id as agent_id from providers p
    join agents a on a.deleted_at is null
    join agent_versions v on v.agent_id = a.id and v.version = a.version
      and (v.model like p.name || '/%' or v.embedding_provider = p.name);

CREATE TABLE rebuilds (rebuilt_at integer not null) strict;

CREATE TABLE sign_in_secrets (
  digest blob not null primary key constraint sign_in_digest_is_whole check (length(digest) = 32),
  purpose text not null check (purpose in ('invitation', 'used')),
  operator_id text references operators,
  created_at integer not null,
  expires_at integer not null,
  constraint sign_in_secret_expires check (expires_at > created_at),
  constraint an_invitation_is_for_someone check ((purpose = 'invitation') = (operator_id is not null))
) strict;

CREATE UNIQUE INDEX one_invitation_per_operator on sign_in_secrets (operator_id) where operator_id is not null;

CREATE TABLE spending (
  id integer primary key,
  agent_id text not null references agents,
  scope text not null check (scope = 'end_user' or scope = 'api_key' or scope = 'agent'),
  -- the external user, the key or the agent; null after an erasure of the end user
  subject text constraint subject_is_known check (subject is not null or scope = 'end_user'),
  span text not null check (span = 'day' or span = 'month' or span = 'total'),
  -- a UTC calendar day or month by the store's clock; 0 and null for all time
  starts_at integer not null,
  ends_at integer constraint window_ends check ((span = 'total') = (ends_at is null) and (ends_at is null or ends_at > starts_at)),
  -- what was charged in the window before the limit was set
  earlier integer not null default 0 check (earlier >= 0),
  spent integer not null default 0 constraint spent_never_negative check (spent >= earlier),
  held integer not null default 0 constraint limit_held_never_negative check (held >= 0),
  -- `billing.unpaid`: what runs without a reply used whose end a caller can trigger
  unpaid integer not null default 0 constraint limit_unpaid_never_negative check (unpaid >= 0),
  -- the limit at the last admission that counts here, or what had been charged before it if that is more
  max_amount integer not null,
  -- the limit of which webhooks were last notified, and the highest threshold of it, in percent
  reported_limit integer,
  reported_percent integer not null default 0 constraint reported_percent_is_a_threshold
    check (reported_percent = 0 or reported_percent = 50 or reported_percent = 80 or reported_percent = 100),
  constraint spent_within_limit check (spent + held + unpaid <= max_amount)
) strict;

CREATE UNIQUE INDEX one_row_per_spend_window on spending (agent_id, scope, subject, span, starts_at);

CREATE INDEX spending_of_windows on spending (span, starts_at, agent_id, scope);

CREATE TABLE traces (
  request_id text not null,
  run integer not null check (run >= 1),
  -- JSON, compressed if it is long (src/agent/trace.ts)
  content blob not null,
  primary key (request_id, run)
) strict, without rowid;

CREATE TABLE turn_errors (
  request_id text not null references turns,
  run integer not null check (run >= 1),
  -- src/cause-kinds.ts
  cause_kind text not null,
  ended_at integer not null,
  primary key (request_id, run)
) strict, without rowid;

CREATE INDEX turn_errors_by_end on turn_errors (ended_at, cause_kind, request_id);

CREATE TABLE turns (
  request_id text primary key,
  api_key_id text not null references api_keys,
  -- set to null by an admission, 24 hours after the end of the turn or later
  idempotency_key text,
  fingerprint blob not null,
  conversation_id text not null references conversations,
  owner_id text not null references owners,
  agent_id text not null references agents,
  agent_version integer not null,
  -- not `in (…)`: for more than two values SQLite builds a table for each insert, which cost a twelfth of a turn
  state text not null
    check (state = 'running' or state = 'completed' or state = 'failed' or state = 'released' or state = 'cancelled'),
  run integer not null check (run >= 1),
  attempt integer not null check (attempt between 1 and 3),
  fence integer not null check (fence >= 1),
  lease_until integer,
  hold integer not null check (hold >= 0),
  prompt_price integer not null,
  completion_price integer not null,
  -- null: the prompt price
  cached_prompt_price integer,
  cache_write_price integer,
  -- null after an erasure
  message text,
  message_tokens integer not null,
  failure_code text,
  failure_cause text,
  prompt_tokens integer,
  completion_tokens integer,
  -- `billing.token-kinds`: parts of the two totals
  cached_prompt_tokens integer,
  cache_write_tokens integer,
  reasoning_tokens integer,
  usage_estimated integer check (usage_estimated in (0, 1)),
  -- `billing.tool-price`: what its finished tool calls cost
  tool_calls integer not null default 0 check (tool_calls >= 0),
  charged integer check (charged >= 0),
  -- `billing.unpaid`: what its runs without a reply used, at their price
  unpaid integer not null default 0 check (unpaid >= 0),
  -- the part of it that was reserved on the owner, because callers can cause what ended the run
  reserved integer not null default 0 constraint reserved_within_unpaid check (reserved between 0 and unpaid),
  first_delta_ms integer,
  -- `turn.cancel`: set while the turn runs, and never by the transaction that ends it
  cancel_requested_at integer,
  -- `turn.cancel`: the reply is the text that had been generated when the turn was cancelled
  incomplete integer not null default 0 check (incomplete in (0, 1)),
  -- `trace.context`: the W3C traceparent header of the request that started the current run
  traceparent text,
  -- `billing.spend-limit`: a JSON list of the IDs of the rows of `spending` in which the current run counts; null: no limit applies
  counts_in text,
  erased_at integer,
  created_at integer not null,
  started_at integer not null,
  ended_at integer,
  -- `retry.continues`: the first run with a finished tool call with side effects; the journal counts from there. Null: a retry starts again.
  continues_from integer constraint continues_from_a_run check (continues_from between 1 and run), finish_reason text
  constraint finish_reasons check (finish_reason in ('stop', 'length', 'refused', 'filtered'))
  constraint only_a_reply_has_a_finish_reason check (finish_reason is null or (state = 'completed' and incomplete = 0)),
  foreign key (agent_id, agent_version) references agent_versions (agent_id, version),
  constraint running_has_lease check ((state = 'running') = (lease_until is not null)),
  constraint ended_has_no_hold check (state = 'running' or hold = 0),
  constraint ended_has_an_end check ((state = 'running') = (ended_at is null)),
  -- also if the clock was set back
  constraint ended_after_its_start check (ended_at >= started_at),
  -- a turn without a reply charges nothing but the tool calls of a cancelled one
  constraint charge_fits_state check (
    (state = 'completed' and charged is not null) or (state <> 'completed' and charged is null and tool_calls = 0)
    or (state = 'cancelled' and charged is not null and charged <= tool_calls and tool_calls > 0)),
  constraint kinds_within_prompt check (
    cached_prompt_tokens >= 0 and cache_write_tokens >= 0 and cached_prompt_tokens + cache_write_tokens <= prompt_tokens),
  constraint reasoning_within_completion check (reasoning_tokens >= 0 and reasoning_tokens <= completion_tokens),
  constraint cancelled_was_requested check (cancel_requested_at is not null or (state <> 'cancelled' and incomplete = 0)),
  constraint only_a_reply_is_incomplete check (incomplete = 0 or state = 'completed')
) strict;

CREATE INDEX erased_records on turns (ended_at) where erased_at is not null and idempotency_key is not null;

CREATE UNIQUE INDEX one_running_turn_per_conversation on turns (conversation_id) where state = 'running';

CREATE UNIQUE INDEX one_turn_per_key on turns (api_key_id, idempotency_key) where idempotency_key is not null;

CREATE INDEX running_turns on turns (lease_until) where state = 'running';

CREATE INDEX turns_by_erasure on turns (erased_at) where erased_at is not null;

CREATE INDEX turns_by_state on turns (state, created_at, request_id, agent_id);

CREATE INDEX turns_by_trace on turns (substr(traceparent, 4, 32), created_at, request_id) where traceparent is not null;

CREATE INDEX turns_newest_first on turns (created_at, request_id, agent_id);

CREATE INDEX turns_of_conversation on turns (conversation_id, request_id);

CREATE INDEX unpaid_turns on turns (ended_at) where unpaid > 0;

CREATE INDEX usage_of_turns on turns (
  ended_at, state, started_at, first_delta_ms, prompt_tokens, completion_tokens, charged, agent_id, api_key_id, owner_id
) where ended_at is not null;

CREATE TRIGGER charge_within_hold before update of charged on turns when new.charged > old.hold
  begin select raise(abort, 'charge_within_hold'); end;

CREATE TRIGGER ended_turns_never_change before update of state on turns
  when old.state in ('completed', 'failed', 'cancelled') and new.state <> old.state
  begin select raise(abort, 'ended_turns_never_change'); end;

CREATE TRIGGER fence_never_falls before update of fence on turns when new.fence < old.fence
  begin select raise(abort, 'fence_never_falls'); end;

CREATE TABLE webhooks (
  id text primary key,
  url text not null,
  -- a JSON list of event types, or ["*"] for all
  events text not null,
  owner_id text references owners,
  agent_id text references agents,
  description text,
  include_messages integer not null check (include_messages in (0, 1)),
  enabled integer not null default 1 check (enabled in (0, 1)),
  -- why the service disabled it; null if the operator did
  disabled_reason text constraint only_a_disabled_webhook_has_a_reason check (disabled_reason is null or enabled = 0),
  -- AES-256-GCM, bound to the row
  sealed_secret blob not null,
  -- while a secret rotates, deliveries have two signatures
  previous_sealed_secret blob,
  previous_secret_until integer,
  -- later events that it matches are recorded for it: when it was created, enabled, or got other events
  listening_since integer not null,
  created_at integer not null,
  updated_at integer not null, earlier_secrets text not null default '[]',
  constraint previous_secret_has_an_end check ((previous_sealed_secret is null) = (previous_secret_until is null))
) strict;
