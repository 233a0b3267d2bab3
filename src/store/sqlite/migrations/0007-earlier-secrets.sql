-- The secrets of rotations before the last one, in their grace periods: a JSON list of {sealed, until}. See src/store/queries/webhooks/webhooks.ts.
alter table webhooks add column earlier_secrets text not null default '[]';
