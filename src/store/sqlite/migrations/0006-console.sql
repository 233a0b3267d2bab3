-- Who is signed in at the console: what the cookie of a browser stands for.
create table console_sessions (
  -- of the cookie's secret, keyed by the admin token: another token ends every session
  digest blob not null primary key constraint session_digest_is_whole check (length(digest) = 32),
  -- what the audit calls it
  id text not null unique,
  created_at integer not null,
  expires_at integer not null,
  constraint session_ends check (expires_at > created_at)
) strict;
