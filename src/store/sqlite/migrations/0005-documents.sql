-- Documents that are indexed in generations, their contents and vectors, and a full text in which each word is marked with its agent's number.

create table knowledge_bases (
  agent_id text primary key references agents,
  number integer not null unique,
  documents integer not null default 0 constraint knowledge_is_bounded check (documents between 0 and 10000),
  -- chunks and their words, also of generations that are on their way out: what BM25 counts with
  chunks integer not null default 0 check (chunks >= 0),
  words integer not null default 0 check (words >= 0),
  revision integer not null default 0,
  -- of the newest deleted document whose row is gone: whoever knows less must read all of them anew
  cleared_revision integer not null default 0
) strict;
create trigger knowledge_revision_never_falls before update on knowledge_bases when new.revision < old.revision
  begin select raise(abort, 'knowledge_revision_never_falls'); end;

alter table documents add column source text not null default 'text' check (source in ('file', 'text', 'url'));
alter table documents add column media_type text;
alter table documents add column file_name text;
alter table documents add column url text constraint an_address_is_fetched check ((source = 'url') = (url is not null));
alter table documents add column content_id text;
alter table documents add column updated_at integer not null default 0;
alter table documents add column indexed_at integer;
-- Gone for every search and list; the row goes when its chunks are gone.
alter table documents add column deleted_at integer;
alter table documents add column attempt integer not null default 0 constraint three_attempts check (attempt between 0 and 3);
alter table documents add column fence integer not null default 0;
alter table documents add column holder text;
alter table documents add column lease_until integer
  constraint indexing_has_lease check ((status = 'indexing') = (lease_until is not null) and (status = 'indexing') = (holder is not null));
alter table documents add column progress integer
  constraint progress_while_indexing check ((status = 'indexing') = (progress is not null) and progress between 0 and 100);
alter table documents add column reason text constraint failed_has_reason check ((status = 'failed') = (reason is not null));
-- What serves: the fence of the claim that wrote it, 0 for nothing.
alter table documents add column generation integer not null default 0
  constraint deleted_serves_nothing check (generation between 0 and fence and (deleted_at is null or generation = 0));
alter table documents add column chunks integer not null default 0 constraint chunks_of_what_serves check (chunks >= 0 and (generation > 0 or chunks = 0));
-- Under what it is found: a replacement that fails must not give its name to the former text.
alter table documents add column serving_title text;
alter table documents add column language text;
alter table documents add column embedding_model text;
-- What the newest claim makes it for.
alter table documents add column next_language text;
alter table documents add column next_embedding_model text;
-- The base's revision when what serves of it last became another.
alter table documents add column revision integer not null default 0;
create index documents_in_work on documents (status, updated_at, id) where status in ('queued', 'indexing');
create index documents_serving on documents (agent_id, language) where generation > 0;
create index documents_by_revision on documents (agent_id, revision);
create index documents_deleted on documents (id) where deleted_at is not null;
create trigger document_fence_never_falls before update on documents when new.fence < old.fence
  begin select raise(abort, 'document_fence_never_falls'); end;

create table contents (
  id text primary key,
  document_id text references documents,
  unused_since integer,
  constraint content_is_used_or_waits check ((document_id is null) = (unused_since is not null))
) strict;
create unique index one_content_per_document on contents (document_id) where document_id is not null;
create index contents_unused on contents (unused_since) where unused_since is not null;

create table content_parts (
  content_id text not null references contents,
  part integer not null check (part >= 0),
  bytes blob not null constraint content_parts_are_small check (length(bytes) <= 262144),
  primary key (content_id, part)
) strict;

-- Chunks of generations that serve no more or never came to their end.
create table discarded_generations (
  document_id text not null references documents,
  generation integer not null,
  primary key (document_id, generation)
) strict, without rowid;

alter table chunks add column generation integer not null default 0;
alter table chunks add column headings text not null default '';
-- How many words its title, headings and text have in the full text.
alter table chunks add column words integer not null default 0;
drop index chunks_of_document;
create unique index one_chunk_per_place on chunks (document_id, generation, position);

create table chunk_vectors (
  chunk_id integer primary key references chunks,
  -- Float32, little-endian, of unit length
  vector blob not null check (length(vector) between 4 and 65536 and length(vector) % 4 = 0)
) strict;

-- What was there is indexed anew from its own text, since the words are other ones now.
insert into knowledge_bases (agent_id, number, documents)
  select agent_id, row_number() over (order by agent_id), count(*) from documents group by agent_id;
insert into contents (id, document_id) select 'cnt_' || substr(id, 5), id from documents;
insert into content_parts (content_id, part, bytes)
  select 'cnt_' || substr(document_id, 5), row_number() over (partition by document_id order by position) - 1,
    cast(text || char(10, 10) as blob) from chunks;
delete from chunks;
update documents set status = 'queued', content_id = 'cnt_' || substr(id, 5), updated_at = created_at;

-- A word is the agent's number, a colon, and what terms.ts makes of it; the text itself is in chunks alone.
drop table chunk_terms;
create virtual table chunk_terms using fts5 (
  title, text, content = '', contentless_delete = 1, tokenize = "ascii tokenchars ':'"
);
create virtual table chunk_words using fts5vocab ('chunk_terms', 'row');
