-- `turn.finish-reason`: why the model ended the reply. Null without a reply, if the turn was cancelled, and of replies from before this migration.
alter table turns add column finish_reason text;
-- Not validated: every row has null, and a check would read the whole table while no turn can start.
alter table turns
  add constraint finish_reasons check (finish_reason in ('stop', 'length', 'refused', 'filtered')) not valid,
  add constraint only_a_reply_has_a_finish_reason check (finish_reason is null or (state = 'completed' and incomplete = 0)) not valid;

-- The next versions of two functions of the turn path. Each is the one before it with these places changed; all else is the same text
-- (docs/decisions/0047-derived-functions.md). The older ones stay for older versions of the server.
do $migration$
declare
  versions constant json := json_build_array(
    json_build_object('of', 'admit_v1(json)', 'edits', json_build_array(
      json_build_array('admit_v1(items json)', 'admit_v2(items json)'),
      json_build_array('r.charged, r.incomplete, ', 'r.charged, r.incomplete, r.finish_reason, '),
      json_build_array($$'incomplete', item.incomplete = 1$$, $$'incomplete', item.incomplete = 1, 'finish_reason', item.finish_reason$$))),
    -- `finish_reasons`: those of the batch by request ID. One that is missing is `stop`, which nearly all are, so that there is nothing to parse.
    json_build_object('of', 'settle_v1(json)', 'edits', json_build_array(
      json_build_array('settle_v1(items json)', 'settle_v2(items json, finish_reasons json)'),
      json_build_array('incomplete = o.incomplete::integer, ',
        $$incomplete = o.incomplete::integer,
      finish_reason = case when not o.incomplete then coalesce(finish_reasons ->> o.request_id, 'stop') end, $$))));
  version json;
  edit json;
  definition text;
begin
  for version in select json_array_elements(versions) loop
    definition := pg_get_functiondef((version ->> 'of')::regprocedure);
    for edit in select json_array_elements(version -> 'edits') loop
      if strpos(definition, edit ->> 0) = 0 then
        raise exception '% has no such place: %', version ->> 'of', edit ->> 0;
      end if;
      definition := replace(definition, edit ->> 0, edit ->> 1);
    end loop;
    execute definition;
  end loop;
end $migration$;
