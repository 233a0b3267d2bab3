-- Documents that are indexed in generations, their contents and vectors, and a full text in which each word is marked with its agent's number.

create table knowledge_bases (
  agent_id text collate "C" primary key references agents,
  number bigint not null unique,
  documents bigint not null default 0 constraint knowledge_is_bounded check (documents between 0 and 10000),
  -- chunks and their words, also of generations that are on their way out: what BM25 counts with
  chunks bigint not null default 0 check (chunks >= 0),
  words bigint not null default 0 check (words >= 0),
  revision bigint not null default 0,
  -- of the newest deleted document whose row is gone: whoever knows less must read all of them anew
  cleared_revision bigint not null default 0
);

alter table documents add column source text not null default 'text' check (source in ('file', 'text', 'url'));
alter table documents add column media_type text;
alter table documents add column file_name text;
alter table documents add column url text;
alter table documents add column content_id text collate "C";
alter table documents add column updated_at bigint not null default 0;
alter table documents add column indexed_at bigint;
-- Gone for every search and list; the row goes when its chunks are gone.
alter table documents add column deleted_at bigint;
alter table documents add column attempt bigint not null default 0;
alter table documents add column fence bigint not null default 0;
alter table documents add column holder text;
alter table documents add column lease_until bigint;
alter table documents add column progress bigint;
alter table documents add column reason text;
-- What serves: the fence of the claim that wrote it, 0 for nothing.
alter table documents add column generation bigint not null default 0;
alter table documents add column chunks bigint not null default 0;
-- Under what it is found: a replacement that fails must not give its name to the former text.
alter table documents add column serving_title text;
alter table documents add column language text;
alter table documents add column embedding_model text;
-- What the newest claim makes it for.
alter table documents add column next_language text;
alter table documents add column next_embedding_model text;
-- The base's revision when what serves of it last became another.
alter table documents add column revision bigint not null default 0;
alter table documents
  add constraint an_address_is_fetched check ((source = 'url') = (url is not null)),
  add constraint three_attempts check (attempt between 0 and 3),
  add constraint indexing_has_lease check ((status = 'indexing') = (lease_until is not null) and (status = 'indexing') = (holder is not null)),
  add constraint progress_while_indexing check ((status = 'indexing') = (progress is not null) and progress between 0 and 100),
  add constraint failed_has_reason check ((status = 'failed') = (reason is not null)),
  add constraint deleted_serves_nothing check (generation between 0 and fence and (deleted_at is null or generation = 0)),
  add constraint chunks_of_what_serves check (chunks >= 0 and (generation > 0 or chunks = 0));
create index documents_in_work on documents (status, updated_at, id) where status in ('queued', 'indexing');
create index documents_serving on documents (agent_id, language) where generation > 0;
create index documents_by_revision on documents (agent_id, revision);
create index documents_deleted on documents (id) where deleted_at is not null;

create function refuse_falling_revision() returns trigger language plpgsql as $$
  begin raise exception 'knowledge_revision_never_falls'; end $$;
create trigger knowledge_revision_never_falls before update on knowledge_bases for each row
  when (new.revision < old.revision) execute function refuse_falling_revision();
create function refuse_falling_document_fence() returns trigger language plpgsql as $$
  begin raise exception 'document_fence_never_falls'; end $$;
create trigger document_fence_never_falls before update on documents for each row
  when (new.fence < old.fence) execute function refuse_falling_document_fence();

create table contents (
  id text collate "C" primary key,
  document_id text collate "C" references documents,
  unused_since bigint,
  constraint content_is_used_or_waits check ((document_id is null) = (unused_since is not null))
);
create unique index one_content_per_document on contents (document_id) where document_id is not null;
create index contents_unused on contents (unused_since) where unused_since is not null;

create table content_parts (
  content_id text collate "C" not null references contents,
  part bigint not null check (part >= 0),
  bytes bytea not null constraint content_parts_are_small check (octet_length(bytes) <= 262144),
  primary key (content_id, part)
);
-- What was compressed once (PDF, DOCX) is not again.
alter table content_parts alter column bytes set storage external;

-- Chunks of generations that serve no more or never came to their end.
create table discarded_generations (
  document_id text collate "C" not null references documents,
  generation bigint not null,
  primary key (document_id, generation)
);

alter table chunks add column generation bigint not null default 0;
alter table chunks add column headings text not null default '';
-- How many words its title, headings and text have in the full text.
alter table chunks add column words bigint not null default 0;

create table chunk_vectors (
  chunk_id bigint primary key references chunks,
  -- Float32, little-endian, of unit length
  vector bytea not null check (octet_length(vector) between 4 and 65536 and octet_length(vector) % 4 = 0)
);
alter table chunk_vectors alter column vector set storage external;

-- In how many chunks a word stands; words as they stand in chunks.terms. What BM25 calls rarity, and what ts_rank does not know.
create table chunk_words (
  word text collate "C" primary key,
  chunks bigint not null check (chunks >= 0)
) with (fillfactor = 70);

-- What was there is indexed anew from its own text, since the words are other ones now.
insert into knowledge_bases (agent_id, number, documents)
  select agent_id, row_number() over (order by agent_id), count(*) from documents group by agent_id;
insert into contents (id, document_id) select 'cnt_' || substr(id, 5), id from documents;
insert into content_parts (content_id, part, bytes)
  select 'cnt_' || substr(document_id, 5), row_number() over (partition by document_id order by position) - 1,
    convert_to(text || E'\n\n', 'UTF8') from chunks;
delete from chunks;
update documents set status = 'queued', content_id = 'cnt_' || substr(id, 5), updated_at = created_at;
drop index chunks_of_document;
create unique index one_chunk_per_place on chunks (document_id, generation, position);
