-- `turn.finish-reason`: why the model ended the reply. Null without a reply, if the turn was cancelled, and of replies from before this migration.
alter table turns add column finish_reason text
  constraint finish_reasons check (finish_reason in ('stop', 'length', 'refused', 'filtered'))
  constraint only_a_reply_has_a_finish_reason check (finish_reason is null or (state = 'completed' and incomplete = 0));
