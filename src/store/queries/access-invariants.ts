/** The queries of the invariants about operators, their sessions and sign-ins, and admin tokens. invariants.ts has the sentences. */

/** I23. */
export const signInsOfOthers = `select s.id, s.operator_id, o.state from console_sessions s left join operators o on o.id = s.operator_id
    where s.operator_id is not null and (o.state is null or o.state <> 'active')
   union all
   select p.id, p.operator_id, o.state from passkeys p left join operators o on o.id = p.operator_id
    where o.id is null or o.oidc_subject is not null or o.state = 'invited'
   union all
   select s.purpose, s.operator_id, o.state from sign_in_secrets s left join operators o on o.id = s.operator_id
    where s.operator_id is not null and (o.state is null or o.state = 'disabled')`

/**
 * I24. Who was removed while a link for recovery was used, or while the company account signed in, is created again under the same ID.
 */
export const changesOutsideTheAuditLog = `select t.id, count(case a.verb when 'create' then 1 end) as created, count(case a.verb when 'revoke' then 1 end) as ended
     from admin_tokens t left join audit a on a.subject_id = t.id and a.noun || '' = 'token'
    group by t.id, t.revoked_at
    having count(case a.verb when 'create' then 1 end) <> 1
      or count(case a.verb when 'revoke' then 1 end) <> case when t.revoked_at is null then 0 else 1 end
   union all
   select o.id, count(case when a.verb in ('create', 'recover') then 1 end), count(case a.verb when 'remove' then 1 end)
     from operators o left join audit a on a.subject_id = o.id and a.noun || '' = 'operator'
    group by o.id
    having count(case when a.verb in ('create', 'recover') then 1 end) <= count(case a.verb when 'remove' then 1 end)
      or count(case a.verb when 'create' then 1 end) > 1 + count(case a.verb when 'remove' then 1 end)
   union all
   select a.subject_id, count(*), 0 from audit a
    where a.noun in ('operator', 'token') and a.verb in ('create', 'recover')
      and not exists (select 1 from operators o where o.id = a.subject_id) and not exists (select 1 from admin_tokens t where t.id = a.subject_id)
      and not exists (select 1 from audit r where r.subject_id = a.subject_id and r.verb || '' = 'remove' and r.noun || '' = 'operator')
    group by a.subject_id`
