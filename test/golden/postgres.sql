create table admin_tokens (
  id text collate "C" not null,
  digest bytea not null,
  name text not null,
  role text not null,
  permissions text not null default '[]'::text,
  owner_id text collate "C",
  agent_id text collate "C",
  created_at bigint not null,
  expires_at bigint,
  revoked_at bigint,
  last_used_at bigint,
  constraint admin_tokens_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint admin_tokens_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES owners(id),
  constraint admin_tokens_pkey PRIMARY KEY (id),
  constraint admin_tokens_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'editor'::text, 'billing'::text, 'viewer'::text]))),
  constraint an_agent_has_an_owner CHECK (((agent_id IS NULL) OR (owner_id IS NOT NULL))),
  constraint token_digest_is_whole CHECK ((length(digest) = 32)),
  constraint token_expires_later CHECK ((expires_at > created_at))
);

CREATE UNIQUE INDEX one_admin_token_per_digest ON public.admin_tokens USING btree (digest);

create table agent_versions (
  agent_id text collate "C" not null,
  version bigint not null,
  name text not null,
  model text collate "C" not null,
  config text not null,
  embedding_provider text collate "C" default "substring"(config, '"embeddingModel":(?:null|"([^"/\\]*)/)'::text),
  fixed_tokens bigint not null,
  history_max_tokens bigint not null,
  knowledge_max_tokens bigint not null,
  max_output_tokens bigint not null,
  max_message_length bigint not null,
  prompt_price bigint not null,
  completion_price bigint not null,
  cached_prompt_price bigint,
  cache_write_price bigint,
  created_at bigint not null,
  constraint agent_versions_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint agent_versions_cache_write_price_check CHECK ((cache_write_price >= 0)),
  constraint agent_versions_cached_prompt_price_check CHECK ((cached_prompt_price >= 0)),
  constraint agent_versions_completion_price_check CHECK ((completion_price >= 0)),
  constraint agent_versions_fixed_tokens_check CHECK ((fixed_tokens >= 0)),
  constraint agent_versions_history_max_tokens_check CHECK ((history_max_tokens >= 0)),
  constraint agent_versions_knowledge_max_tokens_check CHECK ((knowledge_max_tokens >= 0)),
  constraint agent_versions_max_message_length_check CHECK ((max_message_length > 0)),
  constraint agent_versions_max_output_tokens_check CHECK ((max_output_tokens > 0)),
  constraint agent_versions_pkey PRIMARY KEY (agent_id, version),
  constraint agent_versions_prompt_price_check CHECK ((prompt_price >= 0))
);

create table agents (
  id text collate "C" not null,
  owner_id text collate "C" not null,
  version bigint not null,
  min_hold bigint not null default 0,
  enabled integer not null default 1,
  spend_limits text not null default '[]'::text,
  limited integer not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  deleted_at bigint,
  constraint agents_enabled_check CHECK ((enabled = ANY (ARRAY[0, 1]))),
  constraint agents_min_hold_check CHECK ((min_hold >= 0)),
  constraint agents_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES owners(id),
  constraint agents_pkey PRIMARY KEY (id),
  constraint limits_count CHECK (((limited = 1) OR ((limited = 0) AND (spend_limits = '[]'::text))))
);

CREATE INDEX agents_of_owner ON public.agents USING btree (owner_id);

create table api_key_secrets (
  digest bytea not null,
  api_key_id text collate "C" not null,
  created_at bigint not null,
  expires_at bigint,
  constraint api_key_secrets_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint api_key_secrets_pkey PRIMARY KEY (digest)
);

CREATE INDEX secrets_of_api_key ON public.api_key_secrets USING btree (api_key_id);

create table api_keys (
  id text collate "C" not null,
  key_id text collate "C" not null,
  agent_id text collate "C" not null,
  name text,
  permission text not null,
  rate_limit bigint not null,
  rate_window_seconds bigint not null,
  default_external_user_id text,
  mcp integer not null default 1,
  created_at bigint not null,
  revoked_at bigint,
  last_used_at bigint,
  playground integer not null default 0,
  constraint api_keys_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint api_keys_mcp_check CHECK ((mcp = ANY (ARRAY[0, 1]))),
  constraint api_keys_permission_check CHECK ((permission = ANY (ARRAY['full'::text, 'read-only'::text]))),
  constraint api_keys_pkey PRIMARY KEY (id),
  constraint api_keys_playground_check CHECK ((playground = ANY (ARRAY[0, 1]))),
  constraint api_keys_rate_limit_check CHECK ((rate_limit > 0)),
  constraint api_keys_rate_window_seconds_check CHECK ((rate_window_seconds > 0))
);

CREATE INDEX api_keys_of_agent ON public.api_keys USING btree (agent_id);

CREATE UNIQUE INDEX one_api_key_per_key_id ON public.api_keys USING btree (key_id);

CREATE UNIQUE INDEX one_playground_key_per_agent ON public.api_keys USING btree (agent_id) WHERE (playground = 1);

create table audit (
  id text collate "C" not null,
  who text not null,
  author_id text collate "C",
  author_name text,
  verb text not null,
  noun text not null,
  subject_id text collate "C" not null,
  fields text not null,
  changes text,
  request_id text collate "C",
  created_at bigint not null,
  constraint a_call_has_an_id CHECK (((who = 'server'::text) OR (request_id IS NOT NULL))),
  constraint an_author_is_named CHECK ((((who = ANY (ARRAY['operator'::text, 'token'::text])) = (author_id IS NOT NULL)) AND ((author_id IS NULL) = (author_name IS NULL)))),
  constraint audit_pkey PRIMARY KEY (id),
  constraint audit_who_check CHECK ((who = ANY (ARRAY['admin_token'::text, 'operator'::text, 'token'::text, 'server'::text]))),
  constraint changes_are_of_fields CHECK (((changes IS NULL) OR (fields <> '[]'::text)))
);

CREATE INDEX audit_newest_first ON public.audit USING btree (created_at, id);

CREATE INDEX audit_of_author ON public.audit USING btree (author_id, created_at, id);

CREATE INDEX audit_of_noun ON public.audit USING btree (noun, created_at, id);

CREATE INDEX audit_of_subject ON public.audit USING btree (subject_id, created_at, id);

CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON public.audit FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON public.audit FOR EACH ROW EXECUTE FUNCTION refuse_change();

create table chunk_vectors (
  chunk_id bigint not null,
  vector bytea not null,
  constraint chunk_vectors_chunk_id_fkey FOREIGN KEY (chunk_id) REFERENCES chunks(id),
  constraint chunk_vectors_pkey PRIMARY KEY (chunk_id),
  constraint chunk_vectors_vector_check CHECK ((((octet_length(vector) >= 4) AND (octet_length(vector) <= 65536)) AND ((octet_length(vector) % 4) = 0)))
);

create table chunk_words (
  word text collate "C" not null,
  chunks bigint not null,
  constraint chunk_words_chunks_check CHECK ((chunks >= 0)),
  constraint chunk_words_pkey PRIMARY KEY (word)
) with (fillfactor=70);

create table chunks (
  id bigint not null generated by default as identity,
  document_id text collate "C" not null,
  agent_id text collate "C" not null,
  position bigint not null,
  text text not null,
  terms tsvector not null,
  generation bigint not null default 0,
  headings text not null default ''::text,
  words bigint not null default 0,
  constraint chunks_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint chunks_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id),
  constraint chunks_pkey PRIMARY KEY (id)
);

CREATE INDEX chunk_terms ON public.chunks USING gin (terms);

CREATE UNIQUE INDEX one_chunk_per_place ON public.chunks USING btree (document_id, generation, "position");

create table console_sessions (
  digest bytea not null,
  id text collate "C" not null,
  operator_id text collate "C",
  method text not null,
  address text,
  user_agent text,
  created_at bigint not null,
  expires_at bigint not null,
  constraint a_session_belongs_to_someone CHECK (((operator_id IS NULL) = (method = 'admin_token'::text))),
  constraint console_sessions_id_key UNIQUE (id),
  constraint console_sessions_method_check CHECK ((method = ANY (ARRAY['admin_token'::text, 'password'::text, 'passkey'::text, 'oidc'::text, 'link'::text]))),
  constraint console_sessions_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id),
  constraint console_sessions_pkey PRIMARY KEY (digest),
  constraint session_digest_is_whole CHECK ((length(digest) = 32)),
  constraint session_ends CHECK ((expires_at > created_at))
);

CREATE INDEX sessions_of_operator ON public.console_sessions USING btree (operator_id) WHERE (operator_id IS NOT NULL);

create table content_parts (
  content_id text collate "C" not null,
  part bigint not null,
  bytes bytea not null,
  constraint content_parts_are_small CHECK ((octet_length(bytes) <= 262144)),
  constraint content_parts_content_id_fkey FOREIGN KEY (content_id) REFERENCES contents(id),
  constraint content_parts_part_check CHECK ((part >= 0)),
  constraint content_parts_pkey PRIMARY KEY (content_id, part)
);

create table contents (
  id text collate "C" not null,
  document_id text collate "C",
  unused_since bigint,
  sha256 text collate "C",
  constraint content_is_used_or_waits CHECK (((document_id IS NULL) = (unused_since IS NOT NULL))),
  constraint contents_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id),
  constraint contents_pkey PRIMARY KEY (id),
  constraint digest_is_whole CHECK ((length(sha256) = 64))
);

CREATE INDEX contents_unused ON public.contents USING btree (unused_since) WHERE (unused_since IS NOT NULL);

CREATE UNIQUE INDEX one_content_per_document ON public.contents USING btree (document_id) WHERE (document_id IS NOT NULL);

create table conversations (
  id text collate "C" not null,
  api_key_id text collate "C" not null,
  external_user_id text collate "C",
  message_count bigint not null default 0,
  message_tokens bigint not null default 0,
  created_at bigint not null,
  last_message_at bigint,
  constraint conversations_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_keys(id),
  constraint conversations_pkey PRIMARY KEY (id)
) with (fillfactor=80);

CREATE INDEX conversations_by_age ON public.conversations USING btree (created_at, id) WHERE (external_user_id IS NOT NULL);

CREATE INDEX conversations_newest_first ON public.conversations USING btree (api_key_id, created_at, id);

CREATE INDEX conversations_of_all_keys ON public.conversations USING btree (created_at, id, api_key_id);

CREATE UNIQUE INDEX one_conversation_per_end_user ON public.conversations USING btree (api_key_id, external_user_id);

create table deliveries (
  event_id text collate "C" not null,
  webhook_id text collate "C" not null,
  state text not null default 'pending'::text,
  attempts bigint not null default 0,
  next_at bigint not null,
  fence bigint not null default 0,
  status bigint,
  error text,
  created_at bigint not null,
  ended_at bigint,
  constraint deliveries_attempts_check CHECK ((attempts >= 0)),
  constraint deliveries_event_id_fkey FOREIGN KEY (event_id) REFERENCES events(id),
  constraint deliveries_fence_check CHECK ((fence >= 0)),
  constraint deliveries_pkey PRIMARY KEY (event_id, webhook_id),
  constraint deliveries_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))),
  constraint ended_delivery_has_an_end CHECK (((state = 'pending'::text) = (ended_at IS NULL)))
);

CREATE INDEX deliveries_due ON public.deliveries USING btree (webhook_id, next_at) WHERE (state = 'pending'::text);

CREATE INDEX deliveries_of_webhook ON public.deliveries USING btree (webhook_id, state, created_at, event_id);

CREATE TRIGGER delivery_fence_never_falls BEFORE UPDATE OF fence ON public.deliveries FOR EACH ROW WHEN ((new.fence < old.fence)) EXECUTE FUNCTION refuse_change();

create table discarded_generations (
  document_id text collate "C" not null,
  generation bigint not null,
  constraint discarded_generations_document_id_fkey FOREIGN KEY (document_id) REFERENCES documents(id),
  constraint discarded_generations_pkey PRIMARY KEY (document_id, generation)
);

create table documents (
  id text collate "C" not null,
  agent_id text collate "C" not null,
  title text not null,
  bytes bigint not null,
  status text not null,
  created_at bigint not null,
  source text not null default 'text'::text,
  media_type text,
  file_name text,
  url text,
  content_id text collate "C",
  updated_at bigint not null default 0,
  indexed_at bigint,
  deleted_at bigint,
  attempt bigint not null default 0,
  fence bigint not null default 0,
  holder text,
  lease_until bigint,
  progress bigint,
  reason text,
  generation bigint not null default 0,
  chunks bigint not null default 0,
  serving_title text,
  language text,
  embedding_model text,
  next_language text,
  next_embedding_model text,
  revision bigint not null default 0,
  warnings text not null default '[]'::text,
  terms_version bigint not null default 1,
  terms_generation bigint not null default 0,
  terms_position bigint not null default 0,
  constraint an_address_is_fetched CHECK (((source = 'url'::text) = (url IS NOT NULL))),
  constraint chunks_of_what_serves CHECK (((chunks >= 0) AND ((generation > 0) OR (chunks = 0)))),
  constraint deleted_serves_nothing CHECK ((((generation >= 0) AND (generation <= fence)) AND ((deleted_at IS NULL) OR (generation = 0)))),
  constraint documents_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint documents_pkey PRIMARY KEY (id),
  constraint documents_source_check CHECK ((source = ANY (ARRAY['file'::text, 'text'::text, 'url'::text]))),
  constraint documents_status_check CHECK ((status = ANY (ARRAY['queued'::text, 'indexing'::text, 'ready'::text, 'failed'::text]))),
  constraint failed_has_reason CHECK (((status = 'failed'::text) = (reason IS NOT NULL))),
  constraint indexing_has_lease CHECK ((((status = 'indexing'::text) = (lease_until IS NOT NULL)) AND ((status = 'indexing'::text) = (holder IS NOT NULL)))),
  constraint progress_while_indexing CHECK ((((status = 'indexing'::text) = (progress IS NOT NULL)) AND ((progress >= 0) AND (progress <= 100)))),
  constraint three_attempts CHECK (((attempt >= 0) AND (attempt <= 3)))
);

CREATE INDEX documents_by_revision ON public.documents USING btree (agent_id, revision);

CREATE INDEX documents_deleted ON public.documents USING btree (id) WHERE (deleted_at IS NOT NULL);

CREATE INDEX documents_failed ON public.documents USING btree (updated_at, id, agent_id) WHERE (status = 'failed'::text);

CREATE INDEX documents_in_work ON public.documents USING btree (status, updated_at, id) WHERE (status = ANY (ARRAY['queued'::text, 'indexing'::text]));

CREATE INDEX documents_of_agent ON public.documents USING btree (agent_id, created_at, id);

CREATE INDEX documents_serving ON public.documents USING btree (agent_id, language) WHERE (generation > 0);

CREATE INDEX documents_waiting ON public.documents USING btree (agent_id, updated_at, id) WHERE ((status = 'queued'::text) AND (deleted_at IS NULL));

CREATE INDEX documents_with_previous_terms ON public.documents USING btree (agent_id, id) WHERE ((generation > 0) AND ((terms_version <> 2) OR (terms_generation <> generation) OR (terms_position < chunks)));

CREATE TRIGGER document_fence_never_falls BEFORE UPDATE ON public.documents FOR EACH ROW WHEN ((new.fence < old.fence)) EXECUTE FUNCTION refuse_falling_document_fence();

create table end_user_limits (
  agent_id text collate "C" not null,
  external_user_id text collate "C" not null,
  spend_limits text not null,
  updated_at bigint not null,
  constraint end_user_limits_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint end_user_limits_pkey PRIMARY KEY (agent_id, external_user_id)
);

create table events (
  id text collate "C" not null,
  type text collate "C" not null,
  subject text collate "C" not null,
  owner_id text collate "C" not null,
  agent_id text collate "C",
  occurred_at bigint not null,
  constraint event_id_is_type_and_subject CHECK ((id = ((('evt_'::text || subject) || '_'::text) || replace(type, '.'::text, '_'::text)))),
  constraint events_pkey PRIMARY KEY (id)
);

CREATE INDEX events_by_age ON public.events USING btree (occurred_at, id);

create table feedback (
  request_id text collate "C" not null,
  agent_id text collate "C" not null,
  rating text not null,
  comment text,
  tags text not null,
  created_at bigint not null,
  updated_at bigint not null,
  constraint feedback_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint feedback_pkey PRIMARY KEY (request_id),
  constraint feedback_rating_check CHECK ((rating = ANY (ARRAY['up'::text, 'down'::text]))),
  constraint feedback_request_id_fkey FOREIGN KEY (request_id) REFERENCES turns(request_id)
);

CREATE INDEX feedback_newest_first ON public.feedback USING btree (updated_at, request_id, agent_id);

CREATE INDEX feedback_tags ON public.feedback USING gin (((tags)::jsonb));

create table indexing_windows (
  owner_id text collate "C" not null,
  started_at bigint not null,
  spent_ms bigint not null,
  waits_until bigint,
  constraint indexing_time_is_positive CHECK ((spent_ms >= 0)),
  constraint indexing_windows_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES owners(id),
  constraint indexing_windows_pkey PRIMARY KEY (owner_id)
);

create table journal (
  request_id text collate "C" not null,
  run bigint not null,
  step bigint not null,
  part bigint not null,
  kind text collate "C" not null,
  payload text not null,
  created_at bigint not null,
  constraint journal_kind_check CHECK ((kind = ANY (ARRAY['model'::text, 'tool_started'::text, 'tool_finished'::text]))),
  constraint journal_pkey PRIMARY KEY (request_id, step, part, kind, run),
  constraint journal_request_id_fkey FOREIGN KEY (request_id) REFERENCES turns(request_id)
);

CREATE INDEX journal_by_age ON public.journal USING btree (created_at);

create table knowledge_bases (
  agent_id text collate "C" not null,
  number bigint not null,
  documents bigint not null default 0,
  chunks bigint not null default 0,
  words bigint not null default 0,
  revision bigint not null default 0,
  cleared_revision bigint not null default 0,
  constraint knowledge_bases_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint knowledge_bases_chunks_check CHECK ((chunks >= 0)),
  constraint knowledge_bases_number_key UNIQUE (number),
  constraint knowledge_bases_pkey PRIMARY KEY (agent_id),
  constraint knowledge_bases_words_check CHECK ((words >= 0)),
  constraint knowledge_is_bounded CHECK (((documents >= 0) AND (documents <= 10000)))
);

CREATE TRIGGER knowledge_revision_never_falls BEFORE UPDATE ON public.knowledge_bases FOR EACH ROW WHEN ((new.revision < old.revision)) EXECUTE FUNCTION refuse_falling_revision();

create table ledger (
  id text collate "C" not null,
  owner_id text collate "C" not null,
  kind text not null,
  amount bigint not null,
  written_off bigint not null default 0,
  request_id text collate "C",
  idempotency_key text collate "C",
  note text,
  created_at bigint not null,
  constraint charge_names_its_turn CHECK (((kind = 'charge'::text) = (request_id IS NOT NULL))),
  constraint ledger_kind_check CHECK ((kind = ANY (ARRAY['credit'::text, 'adjustment'::text, 'charge'::text]))),
  constraint ledger_pkey PRIMARY KEY (id),
  constraint ledger_written_off_check CHECK ((written_off >= 0)),
  constraint sign_fits_kind CHECK (
CASE kind
    WHEN 'credit'::text THEN (amount > 0)
    WHEN 'adjustment'::text THEN (amount < 0)
    ELSE (amount <= 0)
END)
);

CREATE INDEX ledger_newest_first ON public.ledger USING btree (owner_id, created_at, id);

CREATE INDEX ledger_of_all_owners ON public.ledger USING btree (created_at, id);

CREATE INDEX ledger_of_operators ON public.ledger USING btree (created_at, id, owner_id) WHERE (kind <> 'charge'::text);

CREATE UNIQUE INDEX one_charge_per_turn ON public.ledger USING btree (request_id) WHERE (kind = 'charge'::text);

CREATE UNIQUE INDEX one_entry_per_key ON public.ledger USING btree (owner_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX written_off_newest_first ON public.ledger USING btree (created_at) WHERE (written_off > 0);

CREATE TRIGGER ledger_is_append_only_delete BEFORE DELETE ON public.ledger FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ledger_is_append_only_update BEFORE UPDATE ON public.ledger FOR EACH ROW EXECUTE FUNCTION refuse_change();

create table messages (
  id text collate "C" not null,
  conversation_id text collate "C" not null,
  seq bigint not null,
  role text not null,
  content text not null,
  tokens bigint not null,
  citations text,
  request_id text collate "C" not null,
  created_at bigint not null,
  constraint messages_pkey PRIMARY KEY (id),
  constraint messages_seq_check CHECK ((seq >= 1)),
  constraint messages_tokens_check CHECK ((tokens >= 0)),
  constraint only_replies_cite CHECK (((citations IS NULL) OR (role = 'assistant'::text))),
  constraint roles_alternate CHECK ((role =
CASE (seq % (2)::bigint)
    WHEN 1 THEN 'user'::text
    ELSE 'assistant'::text
END))
);

CREATE UNIQUE INDEX one_message_per_role_and_turn ON public.messages USING btree (request_id, role);

CREATE UNIQUE INDEX one_place_per_message ON public.messages USING btree (conversation_id, seq);

create table migrations (
  name text collate "C" not null,
  checksum text not null,
  contract boolean not null,
  applied_at bigint not null,
  constraint migrations_pkey PRIMARY KEY (name)
);

create table operators (
  id text collate "C" not null,
  email text collate "C" not null,
  name text not null,
  role text not null,
  permissions text not null default '[]'::text,
  owner_id text collate "C",
  state text not null,
  password_hash text,
  oidc_issuer text collate "C",
  oidc_subject text collate "C",
  created_at bigint not null,
  updated_at bigint not null,
  last_sign_in_at bigint,
  constraint company_account_replaces_password CHECK (((oidc_subject IS NULL) OR (password_hash IS NULL))),
  constraint email_in_lower_case CHECK ((email = lower(email))),
  constraint invited_cannot_sign_in CHECK (((state <> 'invited'::text) OR ((password_hash IS NULL) AND (oidc_subject IS NULL)))),
  constraint oidc_identity_is_whole CHECK (((oidc_issuer IS NULL) = (oidc_subject IS NULL))),
  constraint operators_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES owners(id),
  constraint operators_pkey PRIMARY KEY (id),
  constraint operators_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'editor'::text, 'billing'::text, 'viewer'::text]))),
  constraint operators_state_check CHECK ((state = ANY (ARRAY['invited'::text, 'active'::text, 'disabled'::text])))
);

CREATE UNIQUE INDEX one_operator_per_email ON public.operators USING btree (email);

CREATE UNIQUE INDEX one_operator_per_oidc_identity ON public.operators USING btree (oidc_issuer, oidc_subject) WHERE (oidc_subject IS NOT NULL);

create table owners (
  id text collate "C" not null,
  name text not null,
  balance bigint not null default 0,
  held bigint not null default 0,
  unpaid bigint not null default 0,
  cleared bigint not null default 0,
  low_balance bigint,
  created_at bigint not null,
  constraint balance_never_negative CHECK ((balance >= 0)),
  constraint cleared_never_negative CHECK ((cleared >= 0)),
  constraint held_within_balance CHECK (((held >= 0) AND (held <= balance))),
  constraint owners_low_balance_check CHECK ((low_balance >= 0)),
  constraint owners_pkey PRIMARY KEY (id),
  constraint unpaid_never_negative CHECK ((unpaid >= 0))
) with (fillfactor=40);

create table passkeys (
  id text collate "C" not null,
  operator_id text collate "C" not null,
  name text not null,
  public_key bytea not null,
  counter bigint not null,
  transports text not null,
  created_at bigint not null,
  last_used_at bigint,
  constraint passkeys_counter_check CHECK ((counter >= 0)),
  constraint passkeys_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id),
  constraint passkeys_pkey PRIMARY KEY (id)
);

CREATE INDEX passkeys_of_operator ON public.passkeys USING btree (operator_id, created_at);

CREATE TRIGGER passkey_counter_never_falls BEFORE UPDATE OF counter ON public.passkeys FOR EACH ROW WHEN ((new.counter < old.counter)) EXECUTE FUNCTION refuse_change();

create table providers (
  id text collate "C" not null,
  name text collate "C" not null,
  kind text not null,
  base_url text,
  sealed_api_key bytea not null,
  created_at bigint not null,
  updated_at bigint not null,
  constraint providers_pkey PRIMARY KEY (id)
);

CREATE UNIQUE INDEX one_provider_per_name ON public.providers USING btree (name);

CREATE TRIGGER provider_in_use_keeps_its_name BEFORE UPDATE OF name ON public.providers FOR EACH ROW WHEN ((new.name <> old.name)) EXECUTE FUNCTION refuse_provider_in_use();

CREATE TRIGGER provider_in_use_stays BEFORE DELETE ON public.providers FOR EACH ROW EXECUTE FUNCTION refuse_provider_in_use();

create unlogged table rate_windows (
  api_key_id text collate "C" not null,
  opened_at bigint not null,
  ends_at bigint not null,
  spent bigint not null,
  constraint rate_windows_pkey PRIMARY KEY (api_key_id)
) with (fillfactor=50);

create table sign_in_secrets (
  digest bytea not null,
  purpose text not null,
  operator_id text collate "C",
  created_at bigint not null,
  expires_at bigint not null,
  constraint an_invitation_is_for_someone CHECK (((purpose = 'invitation'::text) = (operator_id IS NOT NULL))),
  constraint sign_in_digest_is_whole CHECK ((length(digest) = 32)),
  constraint sign_in_secret_expires CHECK ((expires_at > created_at)),
  constraint sign_in_secrets_operator_id_fkey FOREIGN KEY (operator_id) REFERENCES operators(id),
  constraint sign_in_secrets_pkey PRIMARY KEY (digest),
  constraint sign_in_secrets_purpose_check CHECK ((purpose = ANY (ARRAY['invitation'::text, 'used'::text])))
);

CREATE UNIQUE INDEX one_invitation_per_operator ON public.sign_in_secrets USING btree (operator_id) WHERE (operator_id IS NOT NULL);

create table spending (
  id bigint not null generated by default as identity,
  agent_id text collate "C" not null,
  scope text collate "C" not null,
  subject text collate "C",
  span text collate "C" not null,
  starts_at bigint not null,
  ends_at bigint,
  earlier bigint not null default 0,
  spent bigint not null default 0,
  held bigint not null default 0,
  unpaid bigint not null default 0,
  max_amount bigint not null,
  reported_limit bigint,
  reported_percent bigint not null default 0,
  constraint limit_held_never_negative CHECK ((held >= 0)),
  constraint limit_unpaid_never_negative CHECK ((unpaid >= 0)),
  constraint reported_percent_is_a_threshold CHECK ((reported_percent = ANY (ARRAY[(0)::bigint, (50)::bigint, (80)::bigint, (100)::bigint]))),
  constraint spending_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint spending_earlier_check CHECK ((earlier >= 0)),
  constraint spending_pkey PRIMARY KEY (id),
  constraint spending_scope_check CHECK ((scope = ANY (ARRAY['end_user'::text, 'api_key'::text, 'agent'::text]))),
  constraint spending_span_check CHECK ((span = ANY (ARRAY['day'::text, 'month'::text, 'total'::text]))),
  constraint spent_never_negative CHECK ((spent >= earlier)),
  constraint spent_within_limit CHECK ((((spent + held) + unpaid) <= max_amount)),
  constraint subject_is_known CHECK (((subject IS NOT NULL) OR (scope = 'end_user'::text))),
  constraint window_ends CHECK ((((span = 'total'::text) = (ends_at IS NULL)) AND ((ends_at IS NULL) OR (ends_at > starts_at))))
) with (fillfactor=50);

CREATE UNIQUE INDEX one_row_per_spend_window ON public.spending USING btree (agent_id, scope, subject, span, starts_at);

CREATE INDEX spending_of_windows ON public.spending USING btree (span, starts_at, agent_id, scope);

create table traces (
  request_id text collate "C" not null,
  run bigint not null,
  content bytea not null,
  constraint traces_pkey PRIMARY KEY (request_id, run),
  constraint traces_run_check CHECK ((run >= 1))
);

create table turn_errors (
  request_id text collate "C" not null,
  run bigint not null,
  cause_kind text collate "C" not null,
  ended_at bigint not null,
  constraint turn_errors_pkey PRIMARY KEY (request_id, run),
  constraint turn_errors_request_id_fkey FOREIGN KEY (request_id) REFERENCES turns(request_id),
  constraint turn_errors_run_check CHECK ((run >= 1))
);

CREATE INDEX turn_errors_by_end ON public.turn_errors USING btree (ended_at, cause_kind, request_id);

create table turns (
  request_id text collate "C" not null,
  api_key_id text collate "C" not null,
  idempotency_key text collate "C",
  fingerprint bytea not null,
  conversation_id text collate "C" not null,
  owner_id text collate "C" not null,
  agent_id text collate "C" not null,
  agent_version bigint not null,
  state text collate "C" not null,
  run bigint not null,
  continues_from bigint,
  attempt bigint not null,
  fence bigint not null,
  lease_until bigint,
  holder text collate "C",
  hold bigint not null,
  prompt_price bigint not null,
  completion_price bigint not null,
  cached_prompt_price bigint,
  cache_write_price bigint,
  message text,
  message_tokens bigint not null,
  failure_code text,
  failure_cause text,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_prompt_tokens bigint,
  cache_write_tokens bigint,
  reasoning_tokens bigint,
  usage_estimated integer,
  tool_calls bigint not null default 0,
  charged bigint,
  unpaid bigint not null default 0,
  reserved bigint not null default 0,
  first_delta_ms bigint,
  cancel_requested_at bigint,
  incomplete integer not null default 0,
  traceparent text collate "C",
  counts_in text,
  erased_at bigint,
  created_at bigint not null,
  started_at bigint not null,
  ended_at bigint,
  finish_reason text,
  constraint cancelled_was_requested CHECK (((cancel_requested_at IS NOT NULL) OR ((state <> 'cancelled'::text) AND (incomplete = 0)))),
  constraint charge_fits_state CHECK ((((state = 'completed'::text) AND (charged IS NOT NULL)) OR ((state <> 'completed'::text) AND (charged IS NULL) AND (tool_calls = 0)) OR ((state = 'cancelled'::text) AND (charged IS NOT NULL) AND (charged <= tool_calls) AND (tool_calls > 0)))),
  constraint continues_from_a_run CHECK (((continues_from >= 1) AND (continues_from <= run))),
  constraint ended_after_its_start CHECK ((ended_at >= started_at)),
  constraint ended_has_an_end CHECK (((state = 'running'::text) = (ended_at IS NULL))),
  constraint ended_has_no_hold CHECK (((state = 'running'::text) OR (hold = 0))),
  constraint finish_reasons CHECK ((finish_reason = ANY (ARRAY['stop'::text, 'length'::text, 'refused'::text, 'filtered'::text]))) NOT VALID,
  constraint kinds_within_prompt CHECK (((cached_prompt_tokens >= 0) AND (cache_write_tokens >= 0) AND ((cached_prompt_tokens + cache_write_tokens) <= prompt_tokens))),
  constraint only_a_reply_has_a_finish_reason CHECK (((finish_reason IS NULL) OR ((state = 'completed'::text) AND (incomplete = 0)))) NOT VALID,
  constraint only_a_reply_is_incomplete CHECK (((incomplete = 0) OR (state = 'completed'::text))),
  constraint reasoning_within_completion CHECK (((reasoning_tokens >= 0) AND (reasoning_tokens <= completion_tokens))),
  constraint reserved_within_unpaid CHECK (((reserved >= 0) AND (reserved <= unpaid))),
  constraint running_has_lease CHECK (((state = 'running'::text) = (lease_until IS NOT NULL))),
  constraint turns_attempt_check CHECK (((attempt >= 1) AND (attempt <= 3))),
  constraint turns_charged_check CHECK ((charged >= 0)),
  constraint turns_fence_check CHECK ((fence >= 1)),
  constraint turns_hold_check CHECK ((hold >= 0)),
  constraint turns_incomplete_check CHECK ((incomplete = ANY (ARRAY[0, 1]))),
  constraint turns_pkey PRIMARY KEY (request_id),
  constraint turns_run_check CHECK ((run >= 1)),
  constraint turns_state_check CHECK ((state = ANY (ARRAY['running'::text, 'completed'::text, 'failed'::text, 'released'::text, 'cancelled'::text]))),
  constraint turns_tool_calls_check CHECK ((tool_calls >= 0)),
  constraint turns_unpaid_check CHECK ((unpaid >= 0)),
  constraint turns_usage_estimated_check CHECK ((usage_estimated = ANY (ARRAY[0, 1])))
) with (fillfactor=70);

CREATE INDEX erased_records ON public.turns USING btree (ended_at) WHERE ((erased_at IS NOT NULL) AND (idempotency_key IS NOT NULL));

CREATE UNIQUE INDEX one_running_turn_per_conversation ON public.turns USING btree (conversation_id) WHERE (state = 'running'::text);

CREATE UNIQUE INDEX one_turn_per_key ON public.turns USING btree (api_key_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX running_turns ON public.turns USING btree (lease_until) WHERE (state = 'running'::text);

CREATE INDEX turns_by_erasure ON public.turns USING btree (erased_at) WHERE (erased_at IS NOT NULL);

CREATE INDEX turns_by_trace ON public.turns USING btree (substr(traceparent, 4, 32), created_at, request_id) WHERE (traceparent IS NOT NULL);

CREATE INDEX turns_newest_first ON public.turns USING btree (created_at, request_id, agent_id);

CREATE INDEX turns_of_conversation ON public.turns USING btree (conversation_id, request_id);

CREATE INDEX unpaid_turns ON public.turns USING btree (ended_at) WHERE (unpaid > 0);

CREATE INDEX unusual_turns_newest_first ON public.turns USING btree (state, created_at, request_id, agent_id) WHERE (state = ANY (ARRAY['failed'::text, 'released'::text, 'cancelled'::text]));

CREATE INDEX usage_of_turns ON public.turns USING btree (ended_at) INCLUDE (state, started_at, first_delta_ms, prompt_tokens, completion_tokens, charged, agent_id, api_key_id, owner_id) WHERE (ended_at IS NOT NULL);

CREATE TRIGGER charge_within_hold BEFORE UPDATE OF charged ON public.turns FOR EACH ROW WHEN ((new.charged > old.hold)) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER ended_turns_never_change BEFORE UPDATE OF state ON public.turns FOR EACH ROW WHEN (((old.state = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text])) AND (new.state <> old.state))) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER fence_never_falls BEFORE UPDATE OF fence ON public.turns FOR EACH ROW WHEN ((new.fence < old.fence)) EXECUTE FUNCTION refuse_change();

create table webhooks (
  id text collate "C" not null,
  url text not null,
  events text not null,
  owner_id text collate "C",
  agent_id text collate "C",
  description text,
  include_messages integer not null,
  enabled integer not null default 1,
  disabled_reason text,
  sealed_secret bytea not null,
  previous_sealed_secret bytea,
  previous_secret_until bigint,
  listening_since bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  earlier_secrets text not null default '[]'::text,
  constraint only_a_disabled_webhook_has_a_reason CHECK (((disabled_reason IS NULL) OR (enabled = 0))),
  constraint previous_secret_has_an_end CHECK (((previous_sealed_secret IS NULL) = (previous_secret_until IS NULL))),
  constraint webhooks_agent_id_fkey FOREIGN KEY (agent_id) REFERENCES agents(id),
  constraint webhooks_enabled_check CHECK ((enabled = ANY (ARRAY[0, 1]))),
  constraint webhooks_include_messages_check CHECK ((include_messages = ANY (ARRAY[0, 1]))),
  constraint webhooks_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES owners(id),
  constraint webhooks_pkey PRIMARY KEY (id)
);

create function admit_v1(items json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=500ms
  set plan_cache_mode=force_generic_plan;

create function admit_v2(items json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=500ms
  set plan_cache_mode=force_generic_plan;

create function advance_v1(items json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=1500ms
  set plan_cache_mode=force_generic_plan;

create function claim_v1(which text, most integer, lease_ms bigint, running text[], claimer text) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=1500ms
  set plan_cache_mode=force_generic_plan;

create function fail_v1(items json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=1500ms
  set plan_cache_mode=force_generic_plan;

create function history_v1(of_conversation text, window_tokens bigint) returns json language plpgsql stable;

create function journal_bytes_v1(of_turn text, first_run bigint) returns bigint language plpgsql stable;

create function journal_v1(turn turns) returns json language plpgsql stable;

create function lock_webhooks_v1() returns void language plpgsql volatile
  set lock_timeout=50ms;

create function now_ms() returns bigint language sql volatile;

create function record_ended_turns_v1(ended text[]) returns void language plpgsql volatile;

create function record_events_v1(happened event_v1[]) returns void language sql volatile;

create function record_low_balances_v1(charges settling_v1[], at bigint) returns void language plpgsql volatile;

create function record_reached_limits_v1(uses spend_use_v1[], at bigint) returns void language plpgsql volatile;

create function refuse_change() returns trigger language plpgsql volatile;

create function refuse_falling_document_fence() returns trigger language plpgsql volatile;

create function refuse_falling_revision() returns trigger language plpgsql volatile;

create function refuse_provider_in_use() returns trigger language plpgsql volatile;

create function renew_v1(leases json, lease_ms bigint) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set plan_cache_mode=force_generic_plan;

create function running_turn_v1(turn turns, window_tokens bigint) returns json language sql stable;

create function settle_v1(items json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=1500ms
  set plan_cache_mode=force_generic_plan;

create function settle_v2(items json, finish_reasons json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_hashjoin=off
  set enable_material=off
  set enable_mergejoin=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=1500ms
  set plan_cache_mode=force_generic_plan;

create function spend_limits_v1(stored text) returns spend_limit_v1[] language plpgsql stable;

create function spend_windows_v1(items json) returns json language plpgsql volatile
  set enable_bitmapscan=off
  set enable_material=off
  set enable_seqscan=off
  set jit=off
  set lock_timeout=250ms
  set plan_cache_mode=force_generic_plan;

create function spend_windows_v1(limits spend_limit_v1[], of_agent text, of_key text, of_user text, at bigint, before spend_window_v1[]) returns spend_window_v1[] language plpgsql stable;

create function steps_before_v1(turn turns) returns bigint language plpgsql stable;

-- turnkeep: asciiword with turnkeep_stem (language = 'english')

-- turnkeep: hword_part with simple

-- turnkeep: hword_asciipart with simple

-- turnkeep: numhword with simple

-- turnkeep: asciihword with turnkeep_stem (language = 'english')

-- turnkeep: hword with turnkeep_stem (language = 'english')

-- turnkeep: url_path with simple

-- turnkeep: file with simple

-- turnkeep: word with turnkeep_stem (language = 'english')

-- turnkeep: float with simple

-- turnkeep: int with simple

-- turnkeep: uint with simple

-- turnkeep: numword with turnkeep_stem (language = 'english')

-- turnkeep: email with simple

-- turnkeep: url with simple

-- turnkeep: host with simple

-- turnkeep: sfloat with simple

-- turnkeep: version with simple

-- turnkeep: hword_numpart with simple
