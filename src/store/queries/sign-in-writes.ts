/** The writes of signing in, by name: a part of writes.ts, which says what an entry is. None of their audit entries has a secret. */
import { changed, created, differing, operatorFields } from './audited-fields.ts'
import { acceptInvitation, recoverOperator, setPassword, signInWithCompany, upgradePasswordHash } from './operator-sign-in.ts'
import { findOperatorByEmail, findOperatorByIdentity } from './operators.ts'
import { addPasskey, removePasskey, usePasskey } from './passkeys.ts'
import { when, write } from './write.ts'

export const signInWrites = {
  acceptInvitation: write(acceptInvitation, {
    audit: (operator) => when(operator, 'accept', 'invitation', operator?.id ?? ''),
    changesCaches: false,
  }),
  recoverOperator: write(recoverOperator, {
    before: (sql, [{ email }]) => findOperatorByEmail(sql, email),
    audit: (outcome, _, before) =>
      outcome.kind === 'recovered'
        ? differing('recover', 'operator', outcome.operator.id, before ? operatorFields(before) : {}, operatorFields(outcome.operator))
        : [],
    changesCaches: false,
  }),
  setPassword: write(setPassword, {
    audit: (isSet, [{ operatorId: subjectId }]) => (isSet ? [{ verb: 'change', noun: 'operator', subjectId, fields: ['password'] }] : []),
    changesCaches: false,
  }),
  upgradePasswordHash: write(upgradePasswordHash, { audit: null, changesCaches: false }),
  signInWithCompany: write(signInWithCompany, {
    before: async (sql, [{ issuer, subject, email }]) =>
      (await findOperatorByIdentity(sql, issuer, subject)) ?? (await findOperatorByEmail(sql, email)),
    audit(outcome, _, before) {
      if (outcome.kind === 'no_role') return when(outcome.operator, 'end_sessions', 'operator', outcome.operator?.id ?? '')
      if (outcome.kind !== 'accepted') return []
      const { operator } = outcome
      return before
        ? changed('operator', operator.id, operatorFields, before, operator)
        : created('operator', operator.id, operatorFields, operator)
    },
    changesCaches: false,
  }),
  addPasskey: write(addPasskey, {
    audit: (outcome, [{ id, operatorId, name }]) =>
      outcome.kind === 'added' ? differing('create', 'passkey', id, {}, { operator_id: operatorId, name }) : [],
    changesCaches: false,
  }),
  usePasskey: write(usePasskey, { audit: null, changesCaches: false }),
  removePasskey: write(removePasskey, {
    audit: (outcome, [, id]) => when(outcome === 'removed', 'delete', 'passkey', id),
    changesCaches: false,
  }),
}
