/** `operator.oidc`: what the claims of a provider say about a person, for what a provider on this machine cannot show. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readClaims, withUserInfo } from '../../src/operators/company-claims.ts'
import type { Claims, ClaimRules } from '../../src/operators/company-claims.ts'

const rules = (more: Partial<ClaimRules> = {}): ClaimRules => ({
  issuer: 'https://id.acme.example',
  domains: ['acme.example'],
  roles: null,
  ...more,
})
const ada: Claims = { sub: '1', email: 'ada@acme.example', email_verified: true, name: 'Ada' }

void test('operator.oidc: a Google account needs the claim hd of an allowed domain, because a private one can have its address', () => {
  const google = rules({ issuer: 'https://accounts.google.com' })
  assert.equal(readClaims(ada, google), 'oidc_domain')
  assert.equal(readClaims({ ...ada, hd: 'other.example' }, google), 'oidc_domain')
  assert.equal(readClaims({ ...ada, hd: ['acme.example'] }, google), 'oidc_domain')
  assert.deepEqual(readClaims({ ...ada, hd: 'Acme.example' }, google), {
    subject: '1',
    email: 'ada@acme.example',
    name: 'Ada',
    role: 'unmapped',
  })
  assert.equal(typeof readClaims(ada, { ...google, domains: [] }), 'object')
})

void test('operator.oidc: Entra says with xms_edov that an address is verified; no number does for email_verified', () => {
  const { email_verified: _verified, ...unverified } = ada
  for (const xms_edov of [true, 'true', 1, '1']) assert.equal(typeof readClaims({ ...unverified, xms_edov }, rules()), 'object')
  for (const claims of [
    { xms_edov: 0 },
    { xms_edov: false },
    { email_verified: 1 },
    { email_verified: '1' },
    { email_verified: [true, true] },
    { email_verified: false, xms_edov: true },
  ])
    assert.equal(readClaims({ ...unverified, ...claims }, rules()), 'oidc_email', JSON.stringify(claims))
})

void test('operator.oidc: claims of unexpected types are refused or ignored', () => {
  for (const claims of [
    { sub: '' },
    { sub: 7 },
    { sub: undefined },
    { email: 7 },
    { email: ['ada@acme.example', 'eve@acme.example'] },
    { email: `${'a'.repeat(250)}@acme.example` },
  ])
    assert.equal(readClaims({ ...ada, ...claims }, rules()), 'oidc_email', JSON.stringify(claims))
  const nameOf = (name: unknown): string => (readClaims({ ...ada, name }, rules()) as { name: string }).name
  assert.deepEqual([7, ' ', undefined, 'a\0b', 'a\ud800'].map(nameOf), [
    'ada@acme.example',
    'ada@acme.example',
    'ada@acme.example',
    'ab',
    'a\ufffd',
  ])
  assert.equal(nameOf('😀'.repeat(300)), '😀'.repeat(200))
})

void test('operator.oidc: a role is one of the values of its claim, by its own name or by a path, and of several the first of the list', () => {
  const values: ['admin' | 'viewer', string][] = [
    ['admin', 'root'],
    ['viewer', 'staff'],
  ]
  const roleOf = (claims: Claims, claim = 'groups'): unknown =>
    (readClaims({ ...ada, ...claims }, rules({ roles: { claim, values } })) as { role: unknown }).role
  assert.equal(roleOf({ groups: ['staff', 'root'] }), 'admin')
  assert.equal(roleOf({ groups: 'staff' }), 'viewer')
  for (const groups of [undefined, null, [], {}, ['Staff'], [['staff']], 'staff,root', { staff: true }])
    assert.equal(roleOf({ groups }), 'none')
  assert.equal(roleOf({ realm_access: { roles: ['root'] } }, 'realm_access.roles'), 'admin')
  assert.equal(roleOf({ 'https://acme.example/roles': ['root'] }, 'https://acme.example/roles'), 'admin')
  for (const claim of ['__proto__', 'constructor.name', 'toString', 'realm_access.roles.length'])
    assert.equal(roleOf({ realm_access: { roles: [] } }, claim), 'none')
})

void test('operator.oidc: an address with a character that lower case turns into another letter is refused', () => {
  // The Kelvin sign becomes a k, and a ligature stands for two letters.
  for (const email of ['mar\u212a@acme.example', '\ufb01nn@acme.example', '\uff41da@acme.example'])
    assert.equal(readClaims({ ...ada, email }, rules()), 'oidc_email', email)
  assert.equal((readClaims({ ...ada, email: 'Mark@Acme.example' }, rules()) as { email: string }).email, 'mark@acme.example')
})

void test('operator.oidc: an address of the ID token is not verified by what UserInfo says about another one, and the other way round', () => {
  const { email_verified: _verified, ...unverified } = ada
  const other = { sub: '1', email: 'grace@acme.example', email_verified: true, groups: ['staff'] }
  const merged = withUserInfo(unverified, other)
  assert.deepEqual([merged['email'], merged['groups']], ['ada@acme.example', ['staff']])
  assert.equal(readClaims(merged, rules()), 'oidc_email')
  const noAddress = { sub: '1', email_verified: true, xms_edov: true }
  assert.equal(readClaims(withUserInfo(noAddress, { ...other, email_verified: false }), rules()), 'oidc_email')
  for (const accepted of [withUserInfo({ sub: '1' }, other), withUserInfo(unverified, { ...ada }), withUserInfo(ada, other)])
    assert.equal(typeof readClaims(accepted, rules()), 'object')
})
