-- The operations of the turn path, one round trip each: the argument is a batch as JSON, the result its outcomes as JSON in the same order. Every
-- statement of a function sees what was committed while it waited for the locks before it. Locks are always taken in one order: running turns,
-- conversations, owners, each by ID; the rows of `spending` are written under the lock of their owner. What an admission writes after locking its owners cannot be written by another process at the same time, or the
-- admission returns `again`. Each function may be called again with the same batch and then returns the same outcomes. A function never changes:
-- a change is a function with the next number, so that two versions of the server can run side by side.
-- The functions have planner settings because their plans are cached: a plan from the time when the tables were empty would read whole tables.
-- One plan is used for every batch: otherwise the planner makes a new one for each call with a small batch, at twice the cost of the call.
-- A batch is parsed from JSON once, into an array of rows, because each parsing costs as much as the lookup of a row.
-- Where a turn is found by its ID, its lease says whether it is running (running_has_lease). With its state, the planner could use the partial
-- indexes of running turns: if few turns were running at the last ANALYZE, each lookup would then read all running turns.

-- The newest complete exchanges within the window, oldest first, as texts: a message, its reply, and so on. Reads one range of the index until the
-- window is full.
create function history_v1(of_conversation text, window_tokens bigint) returns json language plpgsql stable as $$
declare
  message record;
  left_tokens bigint := window_tokens;
  first_seq bigint;
begin
  for message in select m.seq, m.tokens from messages m where m.conversation_id = of_conversation order by m.seq desc loop
    left_tokens := left_tokens - message.tokens;
    exit when left_tokens < 0;
    -- an exchange starts with an odd number
    if message.seq % 2 = 1 then
      first_seq := message.seq;
    end if;
  end loop;
  return (select coalesce(json_agg(m.content order by m.seq), '[]') from messages m where m.conversation_id = of_conversation and m.seq >= first_seq);
end $$;

-- The journal of the current run and of those that it continues (`retry.continues`). For each part, the model's answer comes first, then started,
-- then finished.
create function journal_v1(turn turns) returns json language plpgsql stable as $$
begin
  return (select coalesce(json_agg(json_build_object('step', j.step, 'part', j.part, 'kind', j.kind, 'payload', j.payload)
      order by j.run, j.step, j.part, case j.kind when 'model' then 0 when 'tool_started' then 1 else 2 end), '[]')
    from journal j where j.request_id = turn.request_id and j.run >= coalesce(turn.continues_from, turn.run));
end $$;

-- The highest step of the earlier runs that the current one does not continue. It counts from there, because the step is part of a tool call's ID.
create function steps_before_v1(turn turns) returns bigint language plpgsql stable as $$
begin
  return (select coalesce(max(j.step), 0) from journal j where j.request_id = turn.request_id and j.run < coalesce(turn.continues_from, turn.run));
end $$;

-- The size of that journal. It does not read the texts.
create function journal_bytes_v1(of_turn text, first_run bigint) returns bigint language plpgsql stable as $$
begin
  return (select coalesce(sum(octet_length(j.payload)), 0) from journal j where j.request_id = of_turn and j.run >= first_run);
end $$;

-- A running turn with everything that its process needs.
create function running_turn_v1(turn turns, window_tokens bigint) returns json language sql stable as $$
  select json_build_object('request_id', turn.request_id, 'conversation_id', turn.conversation_id, 'api_key_id', turn.api_key_id,
    'agent_id', turn.agent_id, 'agent_version', turn.agent_version, 'fence', turn.fence, 'run', turn.run, 'attempt', turn.attempt,
    'message', turn.message, 'traceparent', turn.traceparent, 'cancel_requested', turn.cancel_requested_at is not null, 'prompt_price', turn.prompt_price::text, 'completion_price', turn.completion_price::text,
    'cached_prompt_price', turn.cached_prompt_price::text, 'cache_write_price', turn.cache_write_price::text, 'hold', turn.hold::text,
    'history', case when window_tokens > 0 then history_v1(turn.conversation_id, window_tokens) else '[]' end,
    -- a first attempt that continues no run has no journal
    'journal', case when turn.attempt > 1 or turn.continues_from is not null then journal_v1(turn) else '[]' end,
    'steps_before', case when turn.run > 1 then steps_before_v1(turn) else 0 end)
$$;

-- A limit of an agent or an end user (`billing.spend-limit`); `since`: when a limit of this scope and span was set.
create type spend_limit_v1 as (scope text, span text, amount bigint, since bigint);
-- A window in which an admission counts. `id` null: it has no row yet. `used`: what is spent, held and unpaid in it, or of a window without a row
-- what was charged in it before its limit was set.
create type spend_window_v1 as (id bigint, scope text, subject text, span text, starts_at bigint, ends_at bigint, max_amount bigint, used bigint);

-- A window whose use is compared with the thresholds of its limit. `max_amount` null: the limit of the last admission. `needed`: what a turn that was
-- refused was to hold; 0 for any other.
create type spend_use_v1 as (id bigint, max_amount bigint, needed bigint);

create function spend_limits_v1(stored text) returns spend_limit_v1[] language plpgsql stable as $$
begin
  return array(select row(l.scope, l.span, l.amount, l.since)::spend_limit_v1
    from json_to_recordset(stored::json) as l (scope text, span text, amount bigint, since bigint));
end $$;

-- The present windows of all limits of an end user, its key and its agent. An end user's own limits replace those that its agent has for end users.
-- One look-up for each limit, because a query over all of them costs five times as much, and none for a window that the admission before it counts in:
-- with the owner locked, nothing else changes it. `before`: the windows of an admission of the same agent in the same batch.
create function spend_windows_v1(limits spend_limit_v1[], of_agent text, of_key text, of_user text, at bigint, before spend_window_v1[])
  returns spend_window_v1[]
  language plpgsql stable as $$
declare
  day_ms constant integer := 24 * 60 * 60 * 1000;
  own_limits text := (select e.spend_limits from end_user_limits e where e.agent_id = of_agent and e.external_user_id = of_user);
  spend_limit spend_limit_v1;
  month timestamp;
  found_id bigint;
  found_used bigint;
  subject_id text;
  starts bigint;
  ends bigint;
  windows spend_window_v1[] := '{}';
  known spend_window_v1;
begin
  if own_limits is not null then
    limits := array(select l from unnest(limits) as l where l.scope <> 'end_user') || spend_limits_v1(own_limits);
  end if;
  foreach spend_limit in array limits loop
    subject_id := case spend_limit.scope when 'agent' then of_agent when 'api_key' then of_key else of_user end;
    known := before[cardinality(windows) + 1];
    if known.id is not null and known.subject = subject_id and known.scope = spend_limit.scope and known.span = spend_limit.span
        and known.max_amount = spend_limit.amount then
      windows := windows || known;
      continue;
    end if;
    if spend_limit.span = 'day' then
      starts := at - at % day_ms;
      ends := starts + day_ms;
    elsif spend_limit.span = 'month' then
      month := date_trunc('month', to_timestamp(at / 1000.0) at time zone 'UTC');
      starts := extract(epoch from month)::bigint * 1000;
      ends := extract(epoch from month + interval '1 month')::bigint * 1000;
    else
      starts := 0;
      ends := null;
    end if;
    select s.id, s.spent + s.held + s.unpaid into found_id, found_used from spending s
      where s.agent_id = of_agent and s.scope = spend_limit.scope and s.subject = subject_id and s.span = spend_limit.span and s.starts_at = starts;
    -- the windows of the agent and of its keys have a row since the limit was set, if anything had been charged in them
    if found_id is null and spend_limit.scope = 'end_user' and spend_limit.since > starts then
      found_used := (select coalesce(sum(t.charged), 0)::bigint from api_keys y
        join conversations c on c.api_key_id = y.id and c.external_user_id = of_user
        join turns t on t.conversation_id = c.id
        where y.agent_id = of_agent and t.started_at >= starts);
    end if;
    windows := windows || row(found_id, spend_limit.scope, subject_id, spend_limit.span, starts, ends, spend_limit.amount,
      coalesce(found_used, 0))::spend_window_v1;
  end loop;
  return windows;
end $$;

create type admission_v1 as (ord integer, api_key_id text collate "C", agent_id text collate "C", idempotency_key text collate "C", fingerprint bytea,
  external_user_id text collate "C", message text, message_length bigint, message_tokens bigint, request_id text collate "C",
  conversation_id text collate "C", traceparent text, lease_ms bigint, may_run boolean);
-- A turn that an admission starts; `opens_for` is the end user if the turn starts a conversation.
create type beginning_v1 as (request_id text, api_key_id text, idempotency_key text, fingerprint bytea, conversation_id text, opens_for text,
  owner_id text, agent_id text, agent_version bigint, lease_ms bigint, hold bigint, prompt_price bigint, completion_price bigint,
  cached_prompt_price bigint, cache_write_price bigint, message text, message_tokens bigint, traceparent text, counts_in text);

-- Admission: record, agent, conversation, balance, a running turn. At most one item of a batch per conversation and per key. `again`: another
-- process was first while this one waited for a lock; call it again. `started`: a new turn, with what the batch does not contain. `later`: its
-- answer would exceed what one call returns (src/store/budget.ts), so nothing was done for it. The first item is never answered `later`.
create function admit_v1(items json) returns json language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '500ms'
as $$
declare
  lifetime constant bigint := 24 * 60 * 60 * 1000;
  -- `order.validation`: the limit if the agent was deleted
  default_max_length constant bigint := 32000;
  -- src/store/budget.ts; a token of a stored text is two bytes at most
  max_bytes constant bigint := 2 * 1024 * 1024;
  small_answer constant bigint := 32 * 1024;
  large_reply constant bigint := 128 * 1024;
  at bigint := now_ms();
  item record;
  asked admission_v1[];
  started beginning_v1[] := '{}';
  turn turns;
  reply record;
  record_free boolean;
  bytes bigint;
  answered bigint := 0;
  outcome json;
  outcomes json[];
  may_write boolean := false;
  locked text[] := '{}';
  owner_ids text[] := '{}';
  present_owner text;
  taken bigint := 0;
  -- `billing.spend-limit`: the windows of an item, the latest end of those that are exceeded, and what the batch holds in each window
  stored_limits text;
  limits spend_limit_v1[];
  windows spend_window_v1[];
  windows_of text;
  spend_window spend_window_v1;
  window_place integer;
  exceeded boolean;
  exceeded_until bigint;
  counted_in bigint[];
  window_ids bigint[] := '{}';
  window_holds bigint[] := '{}';
  window_limits bigint[] := '{}';
  refused_by spend_use_v1[] := '{}';
begin
  select array_agg(i) into asked from json_populate_recordset(null::admission_v1, items) as i;
  outcomes := array_fill(null::json, array[cardinality(asked)]);
  loop
    for item in
      select i.*, r.request_id as record_id, r.state, r.run, r.fence, live, r.conversation_id as record_conversation_id, r.prompt_tokens,
        r.completion_tokens, r.charged, r.incomplete, r.failure_code, case when same then r.continues_from end as continues_from, c.id as known_conversation_id, c.message_count, v.version, v.prompt_price, v.completion_price,
        v.cached_prompt_price, v.cache_write_price, a.owner_id, a.limited, a.spend_limits, o.balance - o.held - o.unpaid as available, w.hold_needed, w.bound, w.history_window, v.max_message_length,
        -- the whole of `order.admission`
        case
          when same and r.state = 'running' and r.holder = i.request_id and r.attempt = 1 then 'admitted_before'
          when same and r.erased_at is not null then 'erased'
          -- `idempotency.in-progress`
          when same and r.state = 'running' then 'idempotency_in_progress'
          when same and r.state in ('failed', 'cancelled') then 'replayed_failure'
          when same and r.state = 'completed' then 'replay'
          when i.message_length > coalesce(v.max_message_length, default_max_length) then 'message_too_long'
          -- `idempotency.conflict`: in any state, so another body conflicts while the first request runs
          when live and not same then 'idempotency_conflict'
          when not i.may_run then 'overloaded'
          when a.id is null then 'agent_not_found'
          when a.enabled <> 1 then 'agent_disabled'
          -- `conversation.busy`, before the constraint one_running_turn_per_conversation
          when exists (select from turns busy where busy.conversation_id = c.id and busy.state = 'running') then 'conversation_busy'
          -- of an agent with limits: after them
          when a.limited = 0 and o.balance - o.held - o.unpaid < w.hold_needed then 'insufficient_balance'
          else 'run'
        end as verdict
      from unnest(asked) as i
        left join turns r on r.api_key_id = i.api_key_id and r.idempotency_key = i.idempotency_key
        -- `idempotency.lifetime`; a running record never expires
        cross join lateral (select r.request_id is not null and (r.ended_at is null or r.ended_at + lifetime > at)) as l (live)
        cross join lateral (select live and r.fingerprint = i.fingerprint) as s (same)
        left join agents a on a.id = i.agent_id and a.deleted_at is null
        -- `retry.continues`: a released run after tool calls with side effects continues with its own version of the agent
        left join agent_versions v on v.agent_id = a.id
          and v.version = case when same and r.continues_from is not null then r.agent_version else a.version end
        left join owners o on o.id = a.owner_id
        left join conversations c on c.api_key_id = i.api_key_id and c.external_user_id = i.external_user_id
        -- `billing.hold`: from stored numbers only, rounded up once, at the dearest price of a prompt token
        cross join lateral (select least(coalesce(v.history_max_tokens, 0), coalesce(c.message_tokens, 0))) as h (history_window)
        -- `billing.unpaid`: at least what a turn of this agent needed when the balance ran out
        cross join lateral (select ((v.fixed_tokens + h.history_window + v.knowledge_max_tokens + i.message_tokens)
              * greatest(v.prompt_price, v.cached_prompt_price, v.cache_write_price)
            + v.max_output_tokens * v.completion_price + 999999) / 1000000) as b (bound)
        cross join lateral (select h.history_window, b.bound, greatest(a.min_hold, b.bound)) as w (history_window, bound, hold_needed)
      where outcomes[i.ord] is null
      order by a.owner_id, i.ord
    loop
      outcome := null;
      -- `billing.spend-limit`: only with the lock of the owner, because the look-ups cost more than the lock
      if item.verdict = 'run' and item.limited = 1 and may_write then
        if item.spend_limits is distinct from stored_limits then
          stored_limits := item.spend_limits;
          limits := spend_limits_v1(stored_limits);
        end if;
        windows := spend_windows_v1(limits, item.agent_id, item.api_key_id, item.external_user_id, at,
          case when item.agent_id = windows_of then windows end);
        windows_of := item.agent_id;
        loop
          exceeded := false;
          exceeded_until := at;
          foreach spend_window in array windows loop
            if spend_window.used + coalesce(window_holds[array_position(window_ids, spend_window.id)], 0) + item.hold_needed > spend_window.max_amount then
              exceeded := true;
              -- null if one of them never ends
              exceeded_until := case when spend_window.ends_at >= exceeded_until then spend_window.ends_at
                when spend_window.ends_at < exceeded_until then exceeded_until end;
            end if;
          end loop;
          -- `min_hold` is about the balance: it must not use up a limit that this message fits in
          exit when not exceeded or item.hold_needed = item.bound;
          item.hold_needed := item.bound;
        end loop;
        if exceeded then
          refused_by := refused_by || array(select row(u.id, u.max_amount, item.hold_needed)::spend_use_v1 from unnest(windows) as u where u.id is not null);
          outcomes[item.ord] := json_build_object('kind', 'spend_limit_exceeded', 'retry_after_seconds', ceil((exceeded_until - at) / 1000.0));
          continue;
        elsif item.available < item.hold_needed then
          outcomes[item.ord] := '{"kind": "insufficient_balance"}';
          continue;
        end if;
      end if;
      -- an upper bound of what the answer contains
      bytes := 0;
      if item.verdict = 'run' and may_write or item.verdict = 'admitted_before' then
        bytes := 2 * item.history_window;
        if item.continues_from is not null then
          bytes := bytes + journal_bytes_v1(item.record_id, item.continues_from);
        end if;
      elsif item.verdict = 'replay' then
        select m.id, m.content, 2 * m.tokens as bytes, m.created_at into strict reply
          from messages m where m.request_id = item.record_id and m.role = 'assistant';
        bytes := case when reply.bytes <= large_reply then reply.bytes else 0 end;
      end if;
      if bytes > small_answer then
        if item.ord > 1 and answered > 0 and answered + bytes > max_bytes then
          outcomes[item.ord] := '{"kind": "later"}';
          continue;
        end if;
        answered := answered + bytes;
      end if;
      if item.verdict = 'run' and not may_write then
        locked := locked || array_remove(array[item.known_conversation_id], null);
        owner_ids := owner_ids || item.owner_id;
        continue;
      elsif item.verdict = 'run' then
        -- one running total per owner, so that items are accepted one by one
        if item.owner_id is distinct from present_owner then
          update owners set held = held + taken where id = present_owner and taken > 0;
          present_owner := item.owner_id;
          taken := 0;
        end if;
        -- a separate statement, so only if there is a record
        if item.record_id is not null then
          record_free := exists (select from turns where request_id = item.record_id for no key update skip locked);
        end if;
        if item.available - taken < item.hold_needed then
          outcome := '{"kind": "insufficient_balance"}';
        elsif item.known_conversation_id is not null and not item.known_conversation_id = any (locked) then
          -- another process has just created it; an erasure might be emptying it, and its lock must come before the owner's
          outcome := '{"kind": "again"}';
        elsif item.record_id is not null and not record_free then
          -- its text is being erased, or its expired key cleared; a turn's lock must come before the owner's, so it is not waited for here
          outcome := '{"kind": "again"}';
        else
          counted_in := null;
          if item.limited = 1 then
            foreach spend_window in array windows loop
              if spend_window.id is null then
                insert into spending (agent_id, scope, subject, span, starts_at, ends_at, earlier, spent, max_amount)
                  values (item.agent_id, spend_window.scope, spend_window.subject, spend_window.span, spend_window.starts_at, spend_window.ends_at,
                    spend_window.used, spend_window.used, spend_window.max_amount)
                  returning id into strict spend_window.id;
              end if;
              counted_in := counted_in || spend_window.id;
              window_place := array_position(window_ids, spend_window.id);
              if window_place is null then
                window_ids := window_ids || spend_window.id;
                window_place := cardinality(window_ids);
              end if;
              window_holds[window_place] := coalesce(window_holds[window_place], 0) + item.hold_needed;
              window_limits[window_place] := spend_window.max_amount;
            end loop;
          end if;
          taken := taken + item.hold_needed;
        end if;
        if outcome is not null then
          null;
        elsif item.live then
          update turns set state = 'running', run = item.run + 1, attempt = 1, fence = item.fence + 1, lease_until = at + item.lease_ms,
              holder = item.request_id, hold = item.hold_needed, agent_version = item.version, prompt_price = item.prompt_price,
              completion_price = item.completion_price, cached_prompt_price = item.cached_prompt_price,
              cache_write_price = item.cache_write_price, started_at = at, ended_at = null, failure_code = null, failure_cause = null,
              cancel_requested_at = null, traceparent = item.traceparent, counts_in = to_json(counted_in)::text
            where request_id = item.record_id and state = 'released' and fence = item.fence
            returning * into strict turn;
          outcome := json_build_object('kind', 'admitted', 'turn', running_turn_v1(turn, item.history_window));
        else
          if item.record_id is not null then
            update turns set idempotency_key = null,
                fingerprint = case when erased_at is null then fingerprint else decode(repeat('00', 32), 'hex') end
              where request_id = item.record_id;
          end if;
          started := started || row(item.request_id, item.api_key_id, item.idempotency_key, item.fingerprint,
            coalesce(item.known_conversation_id, item.conversation_id),
            case when item.known_conversation_id is null then item.external_user_id end, item.owner_id, item.agent_id, item.version, item.lease_ms,
            item.hold_needed, item.prompt_price, item.completion_price, item.cached_prompt_price, item.cache_write_price, item.message,
            item.message_tokens, item.traceparent, to_json(counted_in)::text)::beginning_v1;
          outcome := json_build_object('kind', 'started', 'conversation_id', coalesce(item.known_conversation_id, item.conversation_id),
            'agent_version', item.version, 'prompt_price', item.prompt_price::text, 'completion_price', item.completion_price::text,
            'cached_prompt_price', item.cached_prompt_price::text, 'cache_write_price', item.cache_write_price::text,
            'hold', item.hold_needed::text,
            'history', case when item.history_window > 0 then history_v1(item.known_conversation_id, item.history_window) else '[]' end);
        end if;
      elsif item.verdict = 'admitted_before' then
        select * into strict turn from turns where request_id = item.record_id;
        outcome := json_build_object('kind', 'admitted', 'turn', running_turn_v1(turn, item.history_window));
      elsif item.verdict = 'replay' then
        -- `idempotency.replay`: the stored reply; a large one is read outside of this transaction
        if reply.bytes > large_reply then
          outcome := json_build_object('kind', 'large_replay', 'request_id', item.record_id, 'bytes', reply.bytes);
        else
          outcome := json_build_object('kind', 'replay', 'reply', json_build_object('request_id', item.record_id,
            'conversation_id', item.record_conversation_id, 'message_id', reply.id, 'content', reply.content, 'created_at', reply.created_at,
            'prompt_tokens', item.prompt_tokens, 'completion_tokens', item.completion_tokens, 'charged', item.charged::text,
            'incomplete', item.incomplete = 1));
        end if;
      elsif item.verdict = 'replayed_failure' then
        outcome := json_build_object('kind', 'replayed_failure', 'request_id', item.record_id, 'code', item.failure_code);
      elsif item.verdict = 'message_too_long' then
        outcome := json_build_object('kind', 'message_too_long', 'longest', coalesce(item.max_message_length, default_max_length));
      else
        outcome := json_build_object('kind', item.verdict);
      end if;
      outcomes[item.ord] := outcome;
    end loop;
    exit when may_write or owner_ids = '{}';
    perform 1 from conversations where id = any (locked) order by id for no key update;
    perform 1 from owners where id = any (owner_ids) order by id for no key update;
    may_write := true;
    at := now_ms();
  end loop;
  update owners set held = held + taken where id = present_owner and taken > 0;
  -- once per batch, however many of its turns count in a window
  if cardinality(window_ids) > 0 then
    update spending s set held = s.held + w.hold, max_amount = w.max_amount
      from unnest(window_ids, window_holds, window_limits) as w (id, hold, max_amount) where s.id = w.id;
  end if;
  if cardinality(refused_by) > 0 then
    perform record_reached_limits_v1(refused_by, at);
  end if;
  if cardinality(started) > 0 then
    insert into conversations (id, api_key_id, external_user_id, created_at)
      select b.conversation_id, b.api_key_id, b.opens_for, at from unnest(started) as b where b.opens_for is not null;
    insert into turns (request_id, api_key_id, idempotency_key, fingerprint, conversation_id, owner_id, agent_id, agent_version, state,
        run, attempt, fence, lease_until, holder, hold, prompt_price, completion_price, cached_prompt_price, cache_write_price, message, message_tokens,
        traceparent, counts_in, created_at, started_at)
      select b.request_id, b.api_key_id, b.idempotency_key, b.fingerprint, b.conversation_id, b.owner_id, b.agent_id, b.agent_version, 'running',
        1, 1, 1, at + b.lease_ms, b.request_id, b.hold, b.prompt_price, b.completion_price, b.cached_prompt_price, b.cache_write_price,
        b.message, b.message_tokens, b.traceparent, b.counts_in, at, at
      from unnest(started) as b;
  end if;
  return array_to_json(outcomes);
end $$;

-- A settlement with the columns of its turn.
create type settling_v1 as (ord integer, request_id text collate "C", user_message_id text, assistant_message_id text, ledger_entry_id text,
  content text, content_tokens bigint, citations text, prompt_tokens bigint, cached_prompt_tokens bigint, cache_write_tokens bigint,
  completion_tokens bigint, reasoning_tokens bigint, usage_estimated boolean, tool_calls bigint, charged bigint, written_off bigint, first_delta_ms bigint, incomplete boolean, trace bytea, conversation_id text collate "C", owner_id text collate "C",
  run bigint, hold bigint, message text, message_tokens bigint, created_at bigint, started_at bigint, counts_in text);

-- Settlement: stores both messages and the charge, releases the hold, completes the record. `lost`: the turn has another fence, or has ended
-- in another way. At most one item per turn.
create function settle_v1(items json) returns json language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '1500ms'
as $$
declare
  at bigint;
  ours settling_v1[];
begin
  select array_agg(row(s.*)::settling_v1) into ours from (
    select i.ord, t.request_id, i.user_message_id, i.assistant_message_id, i.ledger_entry_id, i.content, i.content_tokens, i.citations,
      i.prompt_tokens, i.cached_prompt_tokens, i.cache_write_tokens, i.completion_tokens, i.reasoning_tokens, i.usage_estimated, i.tool_calls,
      i.charged, i.written_off, i.first_delta_ms, i.incomplete, i.trace, t.conversation_id,
      t.owner_id, t.run, t.hold, t.message, t.message_tokens, t.created_at, t.started_at, t.counts_in
    from json_to_recordset(items) as i (ord integer, request_id text, fence bigint, user_message_id text, assistant_message_id text,
        ledger_entry_id text, content text, content_tokens bigint, citations text, prompt_tokens bigint, cached_prompt_tokens bigint,
        cache_write_tokens bigint, completion_tokens bigint, reasoning_tokens bigint, usage_estimated boolean, tool_calls bigint, charged bigint, written_off bigint, first_delta_ms bigint, incomplete boolean, trace bytea)
      -- the fence: a run whose turn was claimed by another process, or has ended, finds no row
      join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null
      order by t.request_id for no key update of t) as s;
  perform 1 from conversations c where c.id = any (array(select o.conversation_id from unnest(ours) as o)) order by c.id for no key update;
  at := greatest(now_ms(), (select max(o.started_at) from unnest(ours) as o));
  insert into messages (id, conversation_id, seq, role, content, tokens, citations, request_id, created_at)
    select m.id, o.conversation_id, c.message_count + m.place, m.role, m.content, m.tokens, m.citations, o.request_id, m.created_at
    from unnest(ours) as o
      join conversations c on c.id = o.conversation_id
      cross join lateral (values (1, o.user_message_id, 'user', o.message, o.message_tokens, null, o.created_at),
        (2, o.assistant_message_id, 'assistant', o.content, o.content_tokens, o.citations, at))
        as m (place, id, role, content, tokens, citations, created_at);
  update conversations c set message_count = c.message_count + 2, message_tokens = c.message_tokens + o.message_tokens + o.content_tokens,
      last_message_at = at
    from unnest(ours) as o
    where c.id = o.conversation_id;
  -- `billing.once`: one_charge_per_turn forbids a second row, also for a charge of nothing
  insert into ledger (id, owner_id, kind, amount, written_off, request_id, created_at)
    select o.ledger_entry_id, o.owner_id, 'charge', -o.charged, o.written_off, o.request_id, at from unnest(ours) as o;
  update turns t set state = 'completed', lease_until = null, holder = null, hold = 0, prompt_tokens = o.prompt_tokens,
      cached_prompt_tokens = o.cached_prompt_tokens, cache_write_tokens = o.cache_write_tokens, completion_tokens = o.completion_tokens,
      reasoning_tokens = o.reasoning_tokens, usage_estimated = o.usage_estimated::integer, tool_calls = o.tool_calls, charged = o.charged,
      first_delta_ms = o.first_delta_ms, incomplete = o.incomplete::integer, ended_at = at
    from unnest(ours) as o
    where t.request_id = o.request_id;
  insert into traces (request_id, run, content) select o.request_id, o.run, o.trace from unnest(ours) as o where o.trace is not null;
  perform record_ended_turns_v1(array(select o.request_id from unnest(ours) as o));
  -- last, because all other turns of the owner wait for this row until the commit
  perform 1 from owners o where o.id = any (array(select n.owner_id from unnest(ours) as n)) order by o.id for no key update;
  update owners o set balance = o.balance - s.charged, held = o.held - s.hold
    from (select n.owner_id, sum(n.charged)::bigint as charged, sum(n.hold)::bigint as hold from unnest(ours) as n group by n.owner_id) as s
    where o.id = s.owner_id;
  -- `billing.spend-limit`
  if exists (select from unnest(ours) as o where o.counts_in is not null) then
    update spending s set spent = s.spent + w.charged, held = s.held - w.hold
      from (select c.id::bigint as id, sum(o.charged)::bigint as charged, sum(o.hold)::bigint as hold
        from unnest(ours) as o cross join lateral json_array_elements_text(o.counts_in::json) as c (id) group by c.id) as w
      where s.id = w.id;
    -- asked here, too, because the list costs more
    if exists (select from webhooks w where w.enabled = 1) then
      perform record_reached_limits_v1(array(select row(c.id::bigint, null, 0)::spend_use_v1
        from unnest(ours) as o cross join lateral json_array_elements_text(o.counts_in::json) as c (id)), at);
    end if;
  end if;
  perform record_low_balances_v1(ours, at);
  if cardinality(ours) = json_array_length(items) then
    return (select json_agg(json_build_object('kind', 'settled', 'conversation_id', o.conversation_id, 'created_at', at) order by o.ord)
      from unnest(ours) as o);
  end if;
  return (select json_agg(case when m.id is null then json_build_object('kind', 'lost') else
      json_build_object('kind', 'settled', 'conversation_id', m.conversation_id, 'created_at', m.created_at) end order by i.ord)
    from json_to_recordset(items) as i (ord integer, request_id text, fence bigint, assistant_message_id text)
      -- by the ID of the reply, so that a settlement with a lost answer is recognized
      left join messages m on m.request_id = i.request_id and m.role = 'assistant' and m.id = i.assistant_message_id);
end $$;

-- The end of a turn without a reply, failed, released or cancelled: the hold is released, nothing is added to the history, and nothing is
-- charged except finished tool calls of a cancelled turn (`billing.tool-price`). At most one item per turn. `billing.unpaid`: what the turn used
-- stays reserved if its caller can cause such an end. Charge and unpaid are never more than the hold, so held and unpaid together never exceed
-- the balance.
create function fail_v1(items json) returns json language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '1500ms'
as $$
declare
  ours text[];
begin
  select array_agg(t.request_id) into ours from (
    select t.request_id from json_to_recordset(items) as i (request_id text, fence bigint)
      join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null
      order by t.request_id for no key update of t) as t;
  perform 1 from owners o where o.id in (select t.owner_id from turns t where t.request_id = any (ours)) order by o.id for no key update;
  update owners o set balance = o.balance - s.charged, held = o.held - s.hold, unpaid = o.unpaid + s.reserved
    from (select t.owner_id, sum(t.hold)::bigint as hold, sum(coalesce(i.charged, 0))::bigint as charged,
        sum(least(i.reserved, t.hold - coalesce(i.charged, 0)))::bigint as reserved
      from json_to_recordset(items) as i (request_id text, reserved bigint, charged bigint)
        join turns t on t.request_id = i.request_id and t.request_id = any (ours) group by t.owner_id) as s
    where o.id = s.owner_id;
  -- `billing.spend-limit`
  if exists (select from turns t where t.request_id = any (ours) and t.counts_in is not null) then
    update spending s set spent = s.spent + w.charged, held = s.held - w.hold, unpaid = s.unpaid + w.reserved
      from (select c.id::bigint as id, sum(t.hold)::bigint as hold, sum(coalesce(i.charged, 0))::bigint as charged,
          sum(least(i.reserved, t.hold - coalesce(i.charged, 0)))::bigint as reserved
        from json_to_recordset(items) as i (request_id text, reserved bigint, charged bigint)
          join turns t on t.request_id = i.request_id and t.request_id = any (ours)
          cross join lateral json_array_elements_text(t.counts_in::json) as c (id) group by c.id) as w
      where s.id = w.id;
    perform record_reached_limits_v1(array(select row(c.id::bigint, null, 0)::spend_use_v1
      from turns t cross join lateral json_array_elements_text(t.counts_in::json) as c (id) where t.request_id = any (ours)), now_ms());
  end if;
  -- after their owners, as everywhere, so that two processes cannot deadlock
  update agents a set min_hold = n.needed
    from (select t.agent_id, max(i.needed_hold) as needed from json_to_recordset(items) as i (request_id text, needed_hold bigint)
        join turns t on t.request_id = i.request_id and t.request_id = any (ours) where i.needed_hold > 0 group by t.agent_id) as n
    where a.id = n.agent_id and a.min_hold < n.needed;
  -- `billing.tool-price`, while the turns still have their holds
  if exists (select from json_to_recordset(items) as i (charged bigint) where i.charged > 0) then
    perform record_low_balances_v1(array(
      select json_populate_record(null::settling_v1, json_build_object('owner_id', t.owner_id, 'charged', i.charged, 'hold', t.hold,
          'ledger_entry_id', i.ledger_entry_id))
        from json_to_recordset(items) as i (request_id text, ledger_entry_id text, charged bigint)
          join turns t on t.request_id = i.request_id and t.request_id = any (ours) where i.charged > 0), now_ms());
  end if;
  update turns t set state = i.state, lease_until = null, holder = null, hold = 0, failure_code = i.code, failure_cause = i.cause,
      ended_at = greatest(now_ms(), t.started_at),
      unpaid = t.unpaid + least(i.unpaid, t.hold - coalesce(i.charged, 0)),
      reserved = t.reserved + least(i.reserved, t.hold - coalesce(i.charged, 0)), tool_calls = coalesce(i.tool_calls, 0), charged = i.charged
    from json_to_recordset(items) as i (request_id text, state text, code text, cause text, unpaid bigint, reserved bigint, tool_calls bigint,
      charged bigint)
    where t.request_id = i.request_id and t.request_id = any (ours);
  -- `billing.once`: one_charge_per_turn forbids a second row
  insert into ledger (id, owner_id, kind, amount, written_off, request_id, created_at)
    select i.ledger_entry_id, t.owner_id, 'charge', -i.charged, i.written_off, t.request_id, t.ended_at
    from json_to_recordset(items) as i (request_id text, ledger_entry_id text, charged bigint, written_off bigint)
      join turns t on t.request_id = i.request_id and t.request_id = any (ours)
    where i.charged is not null;
  -- `turn.errors`: the primary key forbids a second error of a run
  insert into turn_errors (request_id, run, cause_kind, ended_at)
    select t.request_id, t.run, i.cause_kind, t.ended_at from json_to_recordset(items) as i (request_id text, cause_kind text)
      join turns t on t.request_id = i.request_id and t.request_id = any (ours)
    -- a cancelled turn has no error
    where i.cause_kind is not null;
  insert into traces (request_id, run, content)
    select t.request_id, t.run, i.trace from json_to_recordset(items) as i (request_id text, trace bytea)
      join turns t on t.request_id = i.request_id and t.request_id = any (ours)
    where i.trace is not null;
  perform record_ended_turns_v1(ours);
  return (select json_agg(json_build_object('kind', case when t.request_id is null then 'lost' else 'ended' end) order by i.ord)
    from json_to_recordset(items) as i (ord integer, request_id text, fence bigint, state text, code text)
      -- with the same fence a run ends only once, so an equal end is this one
      left join turns t on t.request_id = i.request_id and t.fence = i.fence and t.state = i.state and t.failure_code = i.code);
end $$;

-- Journals steps and extends holds, for each item both or neither. At most one item per turn. If it is called again, the entries exist and the hold
-- is large enough, so nothing is done twice.
create function advance_v1(items json) returns json language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '1500ms'
as $$
declare
  item record;
  ours text[];
  advanced text[] := '{}';
  outcomes json[] := array_fill('{"kind": "lost"}'::json, array[json_array_length(items)]);
  present_owner text;
  taken bigint := 0;
  at constant bigint := now_ms();
  exceeded boolean;
  exceeded_until bigint;
  window_ids bigint[] := '{}';
  window_holds bigint[] := '{}';
begin
  select array_agg(t.request_id) into ours from (
    select t.request_id from json_to_recordset(items) as i (request_id text, fence bigint)
      -- a run whose turn was claimed by another process, or has ended, journals nothing
      join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null
      order by t.request_id for no key update of t) as t;
  -- only owners with a larger hold: an entry alone does not wait for a lock
  perform 1 from owners o where o.id in (select t.owner_id from json_to_recordset(items) as i (request_id text, hold bigint)
      join turns t on t.request_id = i.request_id and t.request_id = any (ours) where i.hold > t.hold)
    order by o.id for no key update;
  for item in
    select i.ord, t.request_id, t.owner_id, t.counts_in, i.hold, i.hold - t.hold as more, o.balance - o.held - o.unpaid as available
    from json_to_recordset(items) as i (ord integer, request_id text, hold bigint)
      join turns t on t.request_id = i.request_id and t.request_id = any (ours)
      join owners o on o.id = t.owner_id
    order by t.owner_id, i.ord
  loop
    -- one running total per owner, so that items are accepted one by one
    if item.owner_id is distinct from present_owner then
      update owners set held = held + taken where id = present_owner and taken > 0;
      present_owner := item.owner_id;
      taken := 0;
    end if;
    -- `billing.spend-limit`: the limits of the last admission that counts in these windows
    if item.more > 0 and item.counts_in is not null then
      select count(*) > 0, case when count(s.ends_at) = count(*) then max(s.ends_at) end into exceeded, exceeded_until
        from json_array_elements_text(item.counts_in::json) as c (id) join spending s on s.id = c.id::bigint
        where s.spent + s.held + s.unpaid + item.more > s.max_amount
          - coalesce((select sum(u.hold) from unnest(window_ids, window_holds) as u (id, hold) where u.id = s.id), 0);
      if exceeded then
        perform record_reached_limits_v1(array(select row(c.id::bigint, null, item.hold)::spend_use_v1
          from json_array_elements_text(item.counts_in::json) as c (id)), at);
        outcomes[item.ord] := json_build_object('kind', 'spend_limit_exceeded',
          'retry_after_seconds', case when exceeded_until is not null then greatest(1, ceil((exceeded_until - at) / 1000.0)) end);
        continue;
      end if;
    end if;
    if item.more > 0 and item.available - taken < item.more then
      outcomes[item.ord] := '{"kind": "insufficient_balance"}';
      continue;
    end if;
    if item.more > 0 and item.counts_in is not null then
      window_ids := window_ids || array(select c.id::bigint from json_array_elements_text(item.counts_in::json) as c (id));
      window_holds := window_holds || array_fill(item.more, array[json_array_length(item.counts_in::json)]);
    end if;
    taken := taken + greatest(item.more, 0);
    advanced := advanced || item.request_id;
    outcomes[item.ord] := '{"kind": "advanced"}';
  end loop;
  update owners set held = held + taken where id = present_owner and taken > 0;
  if cardinality(window_ids) > 0 then
    update spending s set held = s.held + w.hold
      from (select u.id, sum(u.hold)::bigint as hold from unnest(window_ids, window_holds) as u (id, hold) group by u.id) as w where s.id = w.id;
  end if;
  insert into journal (request_id, run, step, part, kind, payload, created_at)
    select t.request_id, t.run, e.step, e.part, e.kind, e.payload, now_ms()
    from json_to_recordset(items) as i (request_id text, entries json)
      join turns t on t.request_id = i.request_id and t.request_id = any (advanced)
      cross join lateral json_to_recordset(i.entries) as e (step bigint, part bigint, kind text, payload text)
    -- not if this run or one that it continues has journaled it: each finish is stored once
    where not exists (select from journal j where j.request_id = t.request_id and j.step = e.step and j.part = e.part and j.kind = e.kind
      and j.run >= coalesce(t.continues_from, t.run)
      -- keeps this a look-up by the full key for each entry; as a join it would read all entries of the turn for each
      offset 0)
    on conflict do nothing;
  update turns t set hold = greatest(t.hold, i.hold),
      -- `retry.continues`
      continues_from = coalesce(t.continues_from, case when i.finished_side_effects then t.run end)
    from json_to_recordset(items) as i (request_id text, hold bigint, finished_side_effects boolean)
    where t.request_id = i.request_id and t.request_id = any (advanced)
      and (i.hold > t.hold or (i.finished_side_effects and t.continues_from is null));
  return array_to_json(outcomes);
end $$;

-- Renews leases, or ends them immediately if `lease_ms` is null. Returns the request IDs whose fence has changed. A row that is locked keeps its
-- lease. Not durable: a renewal that is lost in a crash makes the lease expire sooner, and the fence still protects the turn.
create function renew_v1(leases json, lease_ms bigint) returns json language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  free text[];
begin
  perform set_config('synchronous_commit', 'off', true);
  select array_agg(t.request_id) into free from (
    select t.request_id from json_to_recordset(leases) as i (request_id text, fence bigint)
      join turns t on t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null
      for no key update of t skip locked) as t;
  update turns set lease_until = coalesce(now_ms() + lease_ms, 0) where request_id = any (free);
  return (select coalesce(json_agg(i.request_id), '[]') from json_to_recordset(leases) as i (request_id text, fence bigint)
    where not exists (select from turns t where t.request_id = i.request_id and t.fence = i.fence and t.lease_until is not null));
end $$;

-- The claim of recovery, `turn.states`: turns with an expired lease get another attempt and a new fence and are returned complete. `fresh` takes
-- up to `most` turns with one attempt. `suspect` takes one with two attempts, and fails those that have used their third.
create function claim_v1(which text, most integer, lease_ms bigint, running text[], claimer text) returns json language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '1500ms'
as $$
declare
  most_attempts constant bigint := 3;
  -- src/store/budget.ts
  max_bytes constant bigint := 2 * 1024 * 1024;
  at bigint := now_ms();
  bytes bigint;
  answered bigint := 0;
  claimed text[];
  exhausted json[] := '{}';
  orphan record;
begin
  -- repeated because the answer was lost: returns what this claim took the first time, without another attempt
  with again as (update turns set lease_until = at + lease_ms where state = 'running' and holder = claimer returning request_id)
    select array_agg(request_id) into claimed from again;
  if claimed is null then
    for orphan in
      select t.request_id, t.conversation_id, t.agent_id, t.agent_version, coalesce(t.continues_from, t.run) as first_run from turns t
        where t.state = 'running' and t.lease_until <= at and not t.request_id = any (running)
          and case which when 'fresh' then t.attempt = 1 else t.attempt > 1 and t.attempt < most_attempts end
        order by t.attempt, t.created_at, t.request_id limit case which when 'fresh' then most else least(most, 1) end
        for no key update skip locked
    loop
      -- the answer is bounded, so that it comes before its deadline however long the histories and journals are; the rest is claimed next
      select 2 * least(v.history_max_tokens, c.message_tokens) + journal_bytes_v1(orphan.request_id, orphan.first_run) into strict bytes
        from conversations c, agent_versions v
        where c.id = orphan.conversation_id and v.agent_id = orphan.agent_id and v.version = orphan.agent_version;
      exit when cardinality(claimed) > 0 and answered + bytes > max_bytes;
      answered := answered + bytes;
      claimed := claimed || orphan.request_id;
    end loop;
    update turns set attempt = attempt + 1, fence = fence + 1, lease_until = at + lease_ms, holder = claimer where request_id = any (claimed);
  end if;
  if which = 'suspect' then
    for orphan in
      select t.request_id, t.run, t.owner_id, t.hold, t.counts_in, greatest(at, t.started_at) as ended_at from turns t
        where t.state = 'running' and t.lease_until <= at and t.attempt >= most_attempts and not t.request_id = any (running)
        order by t.owner_id, t.request_id for no key update skip locked
    loop
      -- what it used died with its processes, and no caller made them die, so nothing is reserved
      update owners set held = held - orphan.hold where id = orphan.owner_id;
      update spending s set held = s.held - orphan.hold
        from json_array_elements_text(orphan.counts_in::json) as c (id) where s.id = c.id::bigint;
      update turns set state = 'failed', lease_until = null, holder = null, hold = 0, failure_code = 'internal_error',
          failure_cause = format('the process died in each of %s attempts', most_attempts), ended_at = orphan.ended_at,
          unpaid = unpaid + orphan.hold
        where request_id = orphan.request_id;
      insert into turn_errors (request_id, run, cause_kind, ended_at) values (orphan.request_id, orphan.run, 'process_died', orphan.ended_at);
      perform record_ended_turns_v1(array[orphan.request_id]);
      perform record_reached_limits_v1(array(select row(c.id::bigint, null, 0)::spend_use_v1
        from json_array_elements_text(orphan.counts_in::json) as c (id)), at);
      exhausted := exhausted || to_json(orphan.request_id);
    end loop;
  end if;
  return json_build_object('exhausted', exhausted, 'turns', (
    select coalesce(json_agg(running_turn_v1(t, v.history_max_tokens) order by t.attempt, t.created_at, t.request_id), '[]')
    from turns t join agent_versions v on v.agent_id = t.agent_id and v.version = t.agent_version
    where t.request_id = any (claimed) and t.state = 'running' and t.holder = claimer));
end $$;

-- Rate windows: fixed, started by the first request of a key. A changed limit or length applies to the current window too. Does not wait for the
-- disk.
create function spend_windows_v1(items json) returns json language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_material = off
  set jit = off set plan_cache_mode = force_generic_plan set lock_timeout = '250ms'
as $$
declare
  item record;
  at bigint;
  opened bigint;
  ended bigint;
  before bigint;
  accepted bigint;
  outcomes json[] := '{}';
begin
  perform set_config('synchronous_commit', 'off', true);
  -- in the order of the keys, so that two batches cannot deadlock
  for item in
    select i.* from json_to_recordset(items) as i (ord integer, api_key_id text, max_spent bigint, window_seconds bigint, units bigint)
      order by i.api_key_id collate "C"
  loop
    insert into rate_windows (api_key_id, opened_at, ends_at, spent) values (item.api_key_id, 0, 0, 0) on conflict do nothing;
    select w.opened_at, w.ends_at, w.spent into opened, ended, before from rate_windows w where w.api_key_id = item.api_key_id for no key update;
    at := now_ms();
    -- a clock that was set back does not extend a window, and a longer length does not restart one that has ended
    opened := least(opened, at);
    if at >= least(ended, opened + item.window_seconds * 1000) then
      opened := at;
      before := 0;
    end if;
    accepted := greatest(0, least(item.units, item.max_spent - before));
    update rate_windows set opened_at = opened, ends_at = opened + item.window_seconds * 1000, spent = before + accepted
      where api_key_id = item.api_key_id;
    outcomes[item.ord] := json_build_object('accepted', accepted, 'spent', before + accepted, 'ends_at_ms', opened + item.window_seconds * 1000,
      'ends_in_ms', opened + item.window_seconds * 1000 - at);
  end loop;
  return array_to_json(outcomes);
end $$;

-- An event of the outbox, before it has an ID.
create type event_v1 as (type text, subject text collate "C", owner_id text collate "C", agent_id text collate "C", occurred_at bigint);

-- The lock of every transaction that changes which events a webhook gets: nothing is between reading the webhooks and its commit then. While it
-- waits, everyone who reads the webhooks waits behind it, also those it waits for, if they hold the owner of one that reads them. So it waits
-- for a moment only, and tries again.
create function lock_webhooks_v1() returns void language plpgsql set lock_timeout = '50ms' as $$
begin
  for tries in 1..80 loop
    begin
      lock table webhooks in access exclusive mode;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.05);
    end;
  end loop;
  raise lock_not_available using message = 'the webhooks are in use';
end $$;

-- Records each event that a webhook matches, with a delivery for each of these webhooks (`webhook.once`). Events that are recorded already, and those
-- that no webhook matches, are left out. The times of the events must have been taken before the call: with the lock that a change of a webhook
-- takes, every event after the change is then recorded for it.
create function record_events_v1(happened event_v1[]) returns void language sql as $$
  with matched as (
    select 'evt_' || e.subject || '_' || replace(e.type, '.', '_') as id, e.type, e.subject, e.owner_id, e.agent_id, e.occurred_at, w.id as webhook_id
      from unnest(happened) as e
        join webhooks w on w.enabled = 1 and (w.events = '["*"]' or w.events like '%"' || e.type || '"%')
          and (w.owner_id is null or w.owner_id = e.owner_id) and (w.agent_id is null or w.agent_id = e.agent_id)),
  recorded as (
    insert into events (id, type, subject, owner_id, agent_id, occurred_at)
      select distinct m.id, m.type, m.subject, m.owner_id, m.agent_id, m.occurred_at from matched m order by m.id
      on conflict (id) do nothing returning id)
  insert into deliveries (event_id, webhook_id, next_at, created_at)
    select m.id, m.webhook_id, m.occurred_at, m.occurred_at from matched m join recorded r on r.id = m.id
$$;

-- Turns that this transaction has ended: completed, failed, released or cancelled.
create function record_ended_turns_v1(ended text[]) returns void language plpgsql as $$
begin
  if not exists (select from webhooks w where w.enabled = 1) then
    return;
  end if;
  perform record_events_v1(array(
    select row('turn.' || t.state, t.request_id || case t.state when 'released' then '_' || t.run else '' end, t.owner_id, t.agent_id, t.ended_at)::event_v1
      from turns t where t.request_id = any (ended)));
end $$;

-- Owners whose balance these charges have brought below the operator's threshold, or below what one of these turns held.
create function record_low_balances_v1(charges settling_v1[], at bigint) returns void language plpgsql as $$
begin
  if not exists (select from webhooks w where w.enabled = 1) then
    return;
  end if;
  perform record_events_v1(array(
    with charged as (
      select c.owner_id, sum(c.charged)::bigint as charged, max(c.hold) as hold, max(c.ledger_entry_id collate "C") as last_charge
        from unnest(charges) as c group by c.owner_id)
    select row('balance.low', c.last_charge, o.id, null, at)::event_v1 from charged c join owners o on o.id = c.owner_id
      where o.balance < o.low_balance and o.balance + c.charged >= o.low_balance
    union all
    -- once until the next credit
    select row('balance.exhausted', (select l.id from ledger l where l.owner_id = o.id and l.kind = 'credit' order by l.created_at desc, l.id desc limit 1),
        o.id, null, at)::event_v1
      from charged c join owners o on o.id = c.owner_id
      where o.balance - o.unpaid < c.hold));
end $$;

-- The thresholds that these windows have reached, in percent of their limits, each once for each limit of a window. A refused turn that would not fit
-- without the holds of other turns either has reached the last one. The owner of the windows is locked.
create function record_reached_limits_v1(uses spend_use_v1[], at bigint) returns void language plpgsql as $$
declare
  happened event_v1[];
begin
  if not exists (select from webhooks w where w.enabled = 1) then
    return;
  end if;
  with reached as (
    select u.id, u.max_amount, p.percent, s.agent_id, a.owner_id
      from (select c.id, max(c.max_amount) as max_amount, max(c.needed) as needed from unnest(uses) as c group by c.id) as c
        join spending s on s.id = c.id
        join agents a on a.id = s.agent_id
        cross join lateral (select s.id, coalesce(c.max_amount, s.max_amount) as max_amount, s.spent + s.unpaid as used, c.needed) as u
        cross join (values (50), (80), (100)) as p (percent)
      where p.percent > case when s.reported_limit = u.max_amount then s.reported_percent else 0 end
        -- The limit of a refused turn may be newer than the turns of the window, whose next end reports it.
        and (u.needed = 0 or u.used + u.needed > u.max_amount)
        -- of numeric, because a product may not fit in 64 bits
        and (u.used * 100.0 >= u.max_amount * p.percent::numeric or p.percent = 100 and u.used + u.needed > u.max_amount)
        and exists (select from webhooks w where w.enabled = 1 and (w.events = '["*"]' or w.events like '%"spend_limit.reached"%')
          and (w.owner_id is null or w.owner_id = a.owner_id) and (w.agent_id is null or w.agent_id = s.agent_id))),
  reported as (
    update spending s set reported_limit = r.max_amount, reported_percent = r.percent
      from (select n.id, n.max_amount, max(n.percent) as percent from reached n group by n.id, n.max_amount) as r where s.id = r.id)
  select array_agg(row('spend_limit.reached', format('%s_%s_%s', r.id, r.max_amount, r.percent), r.owner_id, r.agent_id, at)::event_v1) into happened
    from reached r;
  if happened is not null then
    perform record_events_v1(happened);
  end if;
end $$;
