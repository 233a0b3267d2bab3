-- Which of the generations' chunks have the terms of which version of terms.ts: those of terms_generation before terms_position. A document
-- of an earlier version has 0, and so has one that a process of an earlier version indexes.
alter table documents add column terms_version bigint not null default 1;
alter table documents add column terms_generation bigint not null default 0;
alter table documents add column terms_position bigint not null default 0;
create index documents_with_previous_terms on documents (agent_id, id)
  where generation > 0 and (terms_version <> 2 or terms_generation <> generation or terms_position < chunks);
