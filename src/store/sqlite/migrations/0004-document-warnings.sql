-- What was not read of the text that searches find: a JSON list of kinds and counts. See src/document-warnings.ts.
alter table documents add column warnings text not null default '[]';
