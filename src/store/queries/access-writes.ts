/** The writes of operators, their sign-ins and sessions, and admin tokens. writes.ts has all others and says what an entry means. */
import { write } from './operation.ts'
import { installation } from './scope.ts'
import { changed, created, differing, operatorFields, tokenFields, when } from './audited-fields.ts'
import { createAdminToken, revokeAdminToken, touchAdminToken } from './admin-tokens.ts'
import {
  changeOperator,
  createOperator,
  endSessions,
  findOperator,
  findOperatorByEmail,
  findOperatorByIdentity,
  inviteOperator,
  removeOperator,
} from './operators.ts'
import { acceptInvitation, recoverOperator, setPassword, signInWithCompany, upgradePasswordHash } from './operator-sign-in.ts'
import { addPasskey, removePasskey, usePasskey } from './passkeys.ts'
import { closeSession, openSession } from './sessions.ts'
import { useToken } from './sign-in-secrets.ts'

export const accessWrites = {
  createOperator: write(createOperator, {
    scope: installation,
    audit: (outcome) => (outcome.kind === 'created' ? created('operator', outcome.operator.id, operatorFields, outcome.operator) : []),
    changesCaches: false,
  }),
  inviteOperator: write(inviteOperator, {
    scope: installation,
    audit: (operator, [id]) => when(operator, 'invite', 'operator', id),
    changesCaches: false,
  }),
  changeOperator: write(changeOperator, {
    scope: installation,
    before: (sql, [id]) => findOperator(sql, id),
    audit: (outcome, [id], before) => changed('operator', id, operatorFields, before, outcome.kind === 'changed' && outcome.operator),
    changesCaches: false,
  }),
  removeOperator: write(removeOperator, {
    scope: installation,
    audit: (outcome, [id]) => (outcome.kind === 'removed' ? differing('remove', 'operator', id, operatorFields(outcome.operator), {}) : []),
    changesCaches: false,
  }),
  endSessions: write(endSessions, {
    scope: installation,
    audit: (ended, [id]) => when(ended, 'end_sessions', 'operator', id),
    changesCaches: false,
  }),
  createAdminToken: write(createAdminToken, {
    scope: installation,
    audit: (outcome, [{ id }]) => created('token', id, tokenFields, outcome.kind === 'created' && outcome.token),
    changesCaches: false,
  }),
  revokeAdminToken: write(revokeAdminToken, {
    scope: installation,
    audit: (token, [id]) => when(token, 'revoke', 'token', id),
    changesCaches: false,
  }),
  touchAdminToken: write(touchAdminToken, { scope: installation, audit: null, changesCaches: false }),
  acceptInvitation: write(acceptInvitation, {
    scope: installation,
    audit: (operator) => (operator ? when(true, 'accept', 'invitation', operator.id) : []),
    changesCaches: false,
  }),
  recoverOperator: write(recoverOperator, {
    scope: installation,
    before: (sql, [{ email }]) => findOperatorByEmail(sql, email),
    audit: (outcome, _, before) =>
      outcome.kind === 'recovered'
        ? differing('recover', 'operator', outcome.operator.id, before ? operatorFields(before) : {}, operatorFields(outcome.operator))
        : [],
    changesCaches: false,
  }),
  setPassword: write(setPassword, {
    scope: installation,
    audit: (isSet, [{ operatorId: subjectId }]) => (isSet ? [{ verb: 'change', noun: 'operator', subjectId, fields: ['password'] }] : []),
    changesCaches: false,
  }),
  upgradePasswordHash: write(upgradePasswordHash, { scope: installation, audit: null, changesCaches: false }),
  // Before the identity provider is asked, so there is no one yet whom an entry could name.
  useSignInState: write(useToken, { scope: installation, audit: null, changesCaches: false }),
  signInWithCompany: write(signInWithCompany, {
    scope: installation,
    before: async (sql, [{ issuer, subject, email }]) =>
      (await findOperatorByIdentity(sql, issuer, subject)) ?? (await findOperatorByEmail(sql, email)),
    audit(outcome, _, before) {
      if (outcome.kind === 'no_role') return outcome.operator ? when(true, 'end_sessions', 'operator', outcome.operator.id) : []
      if (outcome.kind !== 'accepted') return []
      const { operator } = outcome
      return before
        ? changed('operator', operator.id, operatorFields, before, operator)
        : created('operator', operator.id, operatorFields, operator)
    },
    changesCaches: false,
  }),
  addPasskey: write(addPasskey, {
    scope: installation,
    audit: (outcome, [{ id, operatorId, name }]) =>
      outcome.kind === 'added' ? differing('create', 'passkey', id, {}, { operator_id: operatorId, name }) : [],
    changesCaches: false,
  }),
  usePasskey: write(usePasskey, { scope: installation, audit: null, changesCaches: false }),
  removePasskey: write(removePasskey, {
    scope: installation,
    audit: (outcome, [, id]) => when(outcome === 'removed', 'delete', 'passkey', id),
    changesCaches: false,
  }),
  openSession: write(openSession, {
    scope: installation,
    audit: (session) => (session ? when(true, 'open', 'session', session.id) : []),
    changesCaches: false,
  }),
  closeSession: write(closeSession, {
    scope: installation,
    audit: (found, [id]) => when(found, 'close', 'session', id),
    changesCaches: false,
  }),
}
