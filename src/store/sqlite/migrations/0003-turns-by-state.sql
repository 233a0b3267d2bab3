-- Each list of turns is one range of an index, read from its end. The agent stands last: it is compared within the index, so that a list of
-- one agent fetches no row of another. An index of its own would cost every turn more than half as many pages again.
create index turns_by_state on turns (state, created_at, request_id, agent_id);
drop index turns_newest_first;
create index turns_newest_first on turns (created_at, request_id, agent_id);
