/** The writes of signing in, by name: a part of writes.ts, which says what an entry is. None of their audit entries has a secret. */
import { changed, created, differing, operatorFields } from './audited-fields.ts'
import { acceptInvitation, recoverOperator, setPassword, signInWithCompany, upgradePasswordHash } from './operator-sign-in.ts'
import { findOperator } from './operators.ts'
import { addPasskey, removePasskey, usePasskey } from './passkeys.ts'
import { when, write } from './write.ts'

export const signInWrites = {
  acceptInvitation: write(acceptInvitation, {
    audit: (operator) => when(operator, 'accept', 'invitation', operator?.id ?? ''),
    changesCaches: false,
  }),
  recoverOperator: write(recoverOperator, {
    before: (sql, [{ id }]) => findOperator(sql, id),
    audit: (outcome, [{ id }], before) =>
      outcome.kind === 'recovered'
        ? differing('recover', 'operator', id, before ? operatorFields(before) : {}, operatorFields(outcome.operator))
        : [],
    changesCaches: false,
  }),
  setPassword: write(setPassword, {
    audit: (isSet, [{ operatorId: subjectId }]) => (isSet ? [{ verb: 'change', noun: 'operator', subjectId, fields: ['password'] }] : []),
    changesCaches: false,
  }),
  upgradePasswordHash: write(upgradePasswordHash, { audit: null, changesCaches: false }),
  signInWithCompany: write(signInWithCompany, {
    before: (sql, [{ id }]) => findOperator(sql, id),
    audit(outcome, _, before) {
      if (outcome.kind === 'no_role') return when(outcome.operator, 'end_sessions', 'operator', outcome.operator?.id ?? '')
      if (outcome.kind !== 'accepted' || outcome.change === null) return []
      const { operator, change, fields } = outcome
      if (change === 'created') return created('operator', operator.id, operatorFields, operator)
      const [entry] = changed('operator', operator.id, operatorFields, before, operator)
      return [
        { verb: 'change', noun: 'operator', subjectId: operator.id, ...entry, fields: [...new Set([...fields, ...(entry?.fields ?? [])])] },
      ]
    },
    changesCaches: false,
  }),
  addPasskey: write(addPasskey, {
    audit: (outcome) => (outcome.kind === 'added' ? when(true, 'create', 'passkey', outcome.passkey.id) : []),
    changesCaches: false,
  }),
  usePasskey: write(usePasskey, { audit: null, changesCaches: false }),
  removePasskey: write(removePasskey, {
    audit: (outcome, [, id]) => when(outcome === 'removed', 'delete', 'passkey', id),
    changesCaches: false,
  }),
}
