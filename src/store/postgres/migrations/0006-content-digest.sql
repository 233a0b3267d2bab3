-- What was put in is known again without being sent again: SHA-256 in hex of a whole content, as it came. It stands with the content and not with
-- its document, so that an older binary beside this one, which puts another content in without its digest, leaves none behind that is wrong.
-- Null: from before.
alter table contents add column sha256 text collate "C" constraint digest_is_whole check (length(sha256) = 64);
