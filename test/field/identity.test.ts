/**
 * What identity providers send in their claims, in every shape that they document: whether an address is verified, and the groups or roles of a
 * person. Shapes that say the same sign in the same person; an address that is not verified never signs in.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { needsUserInfo, readClaims, withUserInfo } from '../../src/operators/company-claims.ts'
import type { ClaimRules, Claims } from '../../src/operators/company-claims.ts'

/** How many claims of each kind are generated. */
const persons = 1000

const rules = (more: Partial<ClaimRules> = {}): ClaimRules => ({
  issuer: 'https://id.acme.example',
  domains: ['acme.example'],
  roles: null,
  ...more,
})
const ada: Claims = { sub: 'sub-1', email: 'ada@acme.example' }
const anything = fc.jsonValue({ maxDepth: 2 })
const maybeList = <Value>(value: Value): Arbitrary<unknown> => fc.constantFrom<unknown>(value, [value])

/** Providers that document it: most; Cognito; Entra, which has a claim of its own. */
const verified = fc.oneof(
  fc
    .constantFrom<unknown>(true, 'true', 'True', 'TRUE')
    .chain(maybeList)
    .map((email_verified) => ({ email_verified })),
  fc
    .tuple(fc.constantFrom<unknown>(true, 'true', 1, '1').chain(maybeList), fc.constantFrom(null, undefined))
    .map(([xms_edov, email_verified]) => ({ xms_edov, email_verified })),
)
const notTrue = (value: unknown): boolean => {
  const [one] = [value].flat()
  return !(one === true || (typeof one === 'string' && one.toLowerCase() === 'true'))
}
const unverified = fc.oneof(
  fc
    .tuple(
      fc.oneof(fc.constantFrom<unknown>(false, 'false', '', 0, 1, '1', 'yes', [], {}, [true, false], ' true'), anything.filter(notTrue)),
      // What a provider says about the address itself counts before what it says about the domain.
      fc.constantFrom<unknown>(undefined, true, 1, '1', 'true'),
    )
    .filter(([email_verified]) => email_verified !== null)
    .map(([email_verified, xms_edov]) => ({ email_verified, xms_edov })),
  fc
    .oneof(fc.constantFrom<unknown>(undefined, null, false, 0, '0', 'false', ''), anything)
    .filter((value) => notTrue(value) && ![1, '1'].includes([value].flat()[0] as never))
    .map((xms_edov) => ({ xms_edov })),
)

void test('operator.oidc: a verified address signs in however the provider writes it, and no other one does', () => {
  const listed = JSON.parse(readFileSync(join(import.meta.dirname, 'inputs/13-oidc-claims.json'), 'utf8')) as Claims
  assert.equal((readClaims(listed, rules()) as { email: string }).email, 'ann@acme.example')
  fc.assert(
    fc.property(verified, fc.constantFrom('ada@acme.example', ' Ada@ACME.example ').chain(maybeList), (claims, email) => {
      const person = readClaims({ ...ada, ...claims, email }, rules())
      assert.deepEqual(person, { subject: 'sub-1', email: 'ada@acme.example', name: 'ada@acme.example', role: 'unmapped' })
    }),
    { numRuns: persons },
  )
  fc.assert(
    fc.property(unverified, (claims) => assert.equal(readClaims({ ...ada, ...claims }, rules()), 'oidc_email')),
    { numRuns: persons },
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.constantFrom<unknown>(null, undefined, '', [], ['ada@acme.example', 'eve@acme.example'], [['ada@acme.example']], {}),
        anything.filter((one) => !JSON.stringify(one).includes('@')),
      ),
      (email) => assert.equal(readClaims({ ...ada, email_verified: true, email }, rules()), 'oidc_email'),
    ),
    { numRuns: persons },
  )
})

void test('operator.oidc: null in the ID token is absent, and UserInfo says it; what the ID token says counts first', () => {
  fc.assert(
    fc.property(verified, fc.constantFrom(null, undefined), fc.boolean(), (claims, absent, hasEmail) => {
      const idToken: Claims = { sub: 'sub-1', email: hasEmail ? 'ADA@acme.example' : absent, email_verified: absent, xms_edov: absent }
      assert.equal(needsUserInfo(idToken, rules()), true)
      assert.equal(readClaims(idToken, rules()), 'oidc_email')
      assert.equal(typeof readClaims(withUserInfo(idToken, { ...ada, ...claims }), rules()), 'object')
    }),
    { numRuns: persons },
  )
  fc.assert(
    fc.property(unverified, verified, (said, claims) => {
      fc.pre(said.xms_edov !== undefined || 'email_verified' in said)
      const idToken = { ...ada, email_verified: false, ...said }
      assert.equal(readClaims(withUserInfo(idToken, { ...ada, ...claims }), rules()), 'oidc_email')
    }),
    { numRuns: persons },
  )
  const other = { ...ada, email: 'eve@acme.example' }
  assert.equal(readClaims(withUserInfo(other, { ...ada, email_verified: true }), rules()), 'oidc_email', 'of another address')
})

/** The shapes that providers document for a list of roles, by the name of the claim. */
const shapes: [provider: string, claim: string, write: (values: string[]) => Claims][] = [
  ['Okta, Authentik, Entra groups', 'groups', (groups) => ({ groups })],
  ['Entra app roles', 'roles', (roles) => ({ roles })],
  ['Auth0', 'https://acme.example/roles', (roles) => ({ 'https://acme.example/roles': roles })],
  ['Cognito', 'cognito:groups', (groups) => ({ 'cognito:groups': groups })],
  ['Keycloak realm', 'realm_access.roles', (roles) => ({ realm_access: { roles } })],
  ['Keycloak client', 'resource_access.turnkeep.roles', (roles) => ({ resource_access: { other: { roles: [] }, turnkeep: { roles } } })],
  [
    'Keycloak client with dots',
    'resource_access.https://turnkeep.acme.example.roles',
    (roles) => ({ resource_access: { 'https://turnkeep.acme.example': { roles } } }),
  ],
  [
    'Zitadel',
    'urn:zitadel:iam:org:project:roles',
    (roles) => ({ 'urn:zitadel:iam:org:project:roles': Object.fromEntries(roles.map((role) => [role, { '17': 'acme.example' }])) }),
  ],
  [
    'Zitadel, one project',
    'urn:zitadel:iam:org:project:21:roles',
    (roles) => ({ 'urn:zitadel:iam:org:project:21:roles': roles.map((role) => ({ [role]: { '17': 'acme.example', '18': 'b.example' } })) }),
  ],
]
const values: [role: 'admin' | 'editor' | 'viewer', value: string][] = [
  ['admin', 'root'],
  ['editor', '/acme/authors'],
  ['viewer', '7f2d51a0-6c1e-4a53-8f0a-1b1f6d0c9e11'],
]
const roleOf = (claims: Claims, claim: string): unknown => {
  const person = readClaims({ ...ada, email_verified: true, ...claims }, rules({ roles: { claim, values } }))
  return typeof person === 'string' ? person : person.role
}

void test('operator.oidc: a role is found in every shape of groups and roles that providers document', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...shapes),
      fc.uniqueArray(fc.constantFrom(...values.map(([, value]) => value), 'staff', '/root', 'Root', 'authors', 'root,staff', 'root '), {
        maxLength: 6,
      }),
      ([provider, claim, write], given) => {
        const expected = values.find(([, value]) => given.includes(value))?.[0] ?? 'none'
        assert.equal(roleOf(write(given), claim), expected, `${provider}: ${given.join()}`)
        // A provider that writes one value without a list.
        if (given.length === 1 && claim === 'groups') assert.equal(roleOf({ groups: given[0] }, claim), expected)
      },
    ),
    { numRuns: persons },
  )
})

void test('operator.oidc: nothing else in the claims gives a role', () => {
  fc.assert(
    fc.property(fc.constantFrom(...shapes), anything, ([, claim], value) => {
      fc.pre(!JSON.stringify(value).includes('root'))
      const top = claim.startsWith('http') || claim.startsWith('urn') ? claim : claim.split('.')[0]!
      assert.equal(roleOf({ [top]: value }, claim), 'none')
    }),
    { numRuns: persons },
  )
  const zitadel = 'urn:zitadel:iam:org:project:roles'
  for (const [claims, claim] of [
    // The keys of an object are roles in the claims of Zitadel alone, and only with an organization.
    [{ groups: { root: { '17': 'acme.example' } } }, 'groups'],
    [{ groups: { root: true } }, 'groups'],
    [{ [zitadel]: { root: {} } }, zitadel],
    [{ [zitadel]: { root: true } }, zitadel],
    [{ [zitadel]: { root: null, staff: { '17': 'acme.example' } } }, zitadel],
    // The roles of another client.
    [{ resource_access: { other: { roles: ['root'] } } }, 'resource_access.turnkeep.roles'],
    [{ resource_access: { other: { roles: ['root'] } } }, 'resource_access.*.roles'],
    [{ groups: [['root']] }, 'groups'],
    [{ groups: [{ name: 'root' }] }, 'groups'],
  ] as [Claims, string][])
    assert.equal(roleOf(claims, claim), 'none', JSON.stringify(claims))
})

void test('operator.oidc: groups that the provider left out are reported as such, and give no role', () => {
  const overage = { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example/getMemberObjects' } } }
  for (const claims of [overage, { hasgroups: true }, { hasgroups: 'true' }, { ...overage, groups: null }])
    assert.equal(roleOf(claims, 'groups'), 'oidc_groups', JSON.stringify(claims))
  assert.equal(roleOf({ _claim_names: { realm_access: 'src1' } }, 'realm_access.roles'), 'oidc_groups')
  for (const claims of [{ hasgroups: false }, { _claim_names: {} }, { _claim_names: { other: 'src1' } }, { _claim_names: 'groups' }, {}])
    assert.equal(roleOf(claims, 'groups'), 'none', JSON.stringify(claims))
  assert.equal(roleOf({ ...overage, groups: ['root'] }, 'groups'), 'admin', 'what arrived counts')
  assert.equal(roleOf({ ...overage, roles: ['root'] }, 'roles'), 'admin', 'of another claim')
  const unmapped = readClaims({ ...ada, email_verified: true, ...overage }, rules())
  assert.equal(typeof unmapped, 'object', 'without roles from claims they do not matter')
})
