-- The operator's list of all keys' conversations, and of a span of time, is one range of an index, read from its end. The key stands last: it is
-- compared within the index, so that a list of one key or agent fetches no row of another.
create index conversations_of_all_keys on conversations (created_at, id, api_key_id);
