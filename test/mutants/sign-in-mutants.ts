/** Mutants of signing in: passwords and their limits, links, passkeys and the company account. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const passwordTest = 'spec/operator-password.test.ts'
const passwordUnit = 'unit/passwords.test.ts'
const signInUnit = 'unit/password-sign-in.test.ts'
const claimsUnit = 'unit/company-claims.test.ts'
const guessUnit = 'unit/sign-in-guesses.test.ts'
const linkTest = 'spec/operator-links.test.ts'
const passkeyTest = 'spec/operator-passkeys.test.ts'
const oidcTest = 'spec/operator-oidc.test.ts'
const identityTest = 'field/identity.test.ts'

export const signInMutants: Mutant[] = [
  {
    rule: 'operator.password',
    removes: 'a common password is refused',
    edits: [edit("  if (commonPasswords.has(lower)) return 'is one of the most common passwords; choose another one'\n")],
    caughtBy: { file: passwordUnit, title: 'operator.password: common ones, repetitions, sequences' },
  },
  {
    rule: 'operator.password',
    removes: 'characters are counted as code points',
    edits: [edit('const characters = [...normalized(password)]', "const characters = normalized(password).split('')")],
    caughtBy: { file: passwordUnit, title: 'operator.password: one of 12 to 256 characters is accepted' },
  },
  {
    rule: 'operator.password',
    removes: 'each hash has its own salt',
    edits: [edit('      const salt = randomBytes(saltBytes)\n', '      const salt = Buffer.alloc(saltBytes)\n')],
    caughtBy: { file: passwordUnit, title: 'operator.password: the stored text has the parameters, a new salt each time' },
  },
  {
    rule: 'operator.password',
    removes: 'a wrong account takes the same time',
    edits: [
      edit(
        '      const known = stored === null ? noAccount : read(stored)\n',
        '      if (stored === null) return false\n      const known = stored === null ? noAccount : read(stored)\n',
      ),
    ],
    caughtBy: {
      file: passwordUnit,
      title: 'operator.password: the parameters are N = 2^16, r = 8, p = 2, and a wrong account takes the same time',
    },
  },
  {
    rule: 'operator.password',
    removes: 'few hashes wait',
    edits: [edit('const maxWaiting = 16', 'const maxWaiting = 1600', { at: 'operator.password' })],
    caughtBy: { file: passwordUnit, title: 'operator.password: one hash at a time' },
  },
  {
    rule: 'operator.password',
    removes: 'only an active operator signs in',
    edits: [
      edit(" || found.state !== 'active') throw", ') throw'),
      edit(" and state = 'active' and updated_at = $3`", ' and updated_at = $3`'),
    ],
    caughtBy: { file: passwordTest, title: 'operator.password: a wrong one, an unknown, invited or disabled account' },
  },
  {
    rule: 'operator.password',
    removes: 'a new password ends the other sessions',
    edits: [edit('  if (changed > 0) await endSessions(sql, operatorId, keepSession)\n')],
    caughtBy: { file: passwordTest, title: 'operator.password: setting one ends the other sessions' },
  },
  {
    rule: 'operator.password',
    removes: 'a sign-in that was checked before a change opens no session',
    edits: [edit('and updated_at = $3`', 'and $3 > 0`')],
    caughtBy: { file: passwordTest, title: 'operator.password: a sign-in that was checked before the password was changed' },
  },
  {
    rule: 'operator.password',
    removes: 'an old session does not set a password without the current one',
    edits: [edit('now - createdAt > recentMs', 'now - createdAt > recentMs * 1000')],
    caughtBy: { file: passwordTest, title: 'operator.password: without the current one, the sign-in must be of the last 15 minutes' },
  },
  {
    rule: 'operator.guesses',
    removes: 'the wait of an account grows',
    edits: [edit('1000 * 2 ** Math.min(wrong - free, 30)', '1000')],
    caughtBy: { file: guessUnit, title: 'operator.guesses: after ten wrong passwords of an account' },
  },
  {
    rule: 'operator.guesses',
    removes: 'the wait is bounded',
    edits: [edit('account: { free: 10, maxWaitMs: 60_000 }', 'account: { free: 10, maxWaitMs: 60_000_000 }', { at: 'operator.guesses' })],
    caughtBy: { file: guessUnit, title: 'operator.guesses: the right password is accepted after the wait' },
  },
  {
    rule: 'operator.guesses',
    removes: 'a known browser has counts of its own',
    edits: [edit('    if (knownBrowser !== undefined) return', "    if (knownBrowser === '') return", { at: 'operator.guesses-2' })],
    caughtBy: { file: guessUnit, title: 'operator.guesses: a browser that is known to the account' },
  },
  {
    rule: 'operator.guesses',
    removes: 'a failed response of the provider counts as wrong',
    edits: [edit('          if (isVerified) guess.right()', '          guess.right()')],
    caughtBy: { file: oidcTest, title: 'operator.guesses: made-up codes make the next of their address wait' },
  },
  {
    rule: 'operator.guesses',
    removes: 'few responses are exchanged at the same time',
    edits: [edit('if (all >= slots || own >= slotsOfOne)', 'if (all >= 16 * slots)', { at: 'operator.guesses-4' })],
    caughtBy: { file: oidcTest, title: 'operator.guesses: a provider that hangs holds few sign-ins' },
  },
  {
    rule: 'operator.guesses',
    removes: 'a browser is known to one account alone',
    edits: [edit("token?.content['operatorId'] === id ?", "token && id !== '' ?")],
    caughtBy: { file: passwordTest, title: 'operator.guesses: of many wrong passwords at the same time ten are checked' },
  },
  {
    rule: 'operator.guesses',
    removes: 'a guess counts before it is checked',
    edits: [
      edit(
        '      const takeBack = keys.map(([kind, key]) => add(kind, key))\n',
        '      const takeBack: (() => void)[] = []\n      setTimeout(() => keys.forEach(([kind, key]) => add(kind, key)), 1000).unref()\n',
      ),
    ],
    caughtBy: { file: passwordTest, title: 'operator.guesses: of many wrong passwords at the same time ten are checked' },
  },
  {
    rule: 'operator.guesses',
    removes: 'what is remembered is bounded',
    edits: [edit('    if (map.size >= maxEntries) map.delete(map.keys().next().value!)\n')],
    caughtBy: { file: guessUnit, title: 'operator.guesses: many accounts do not exhaust memory' },
  },
  {
    rule: 'operator.guesses',
    removes: 'a guess that is not checked does not count',
    edits: [edit('      passwords.refuseIfFull(order)\n', '', { at: 'operator.guesses-3' })],
    caughtBy: { file: signInUnit, title: 'operator.guesses: a guess that is refused because too many wait is not counted' },
  },
  {
    rule: 'operator.guesses',
    removes: 'a made-up cookie is not checked before others',
    edits: [edit("known === undefined ? 'last' : 'first'", "browser === undefined ? 'last' : 'first'")],
    caughtBy: { file: signInUnit, title: 'operator.guesses: only the cookie of a sign-in to this account is checked before others' },
  },
  {
    rule: 'operator.single-use',
    removes: 'a token is for one purpose',
    edits: [edit('update(`sign ${purpose}\\n`)', 'update(`sign ${purpose.length > 0}\\n`)')],
    caughtBy: { file: 'unit/signed-tokens.test.ts', title: 'operator.single-use: a token is read for its purpose alone' },
  },
  {
    rule: 'operator.single-use',
    removes: 'another encoding is the same token',
    edits: [
      edit("use: { digest: hash('sha256', bytes, 'buffer'), expiresAt }", "use: { digest: hash('sha256', text, 'buffer'), expiresAt }"),
    ],
    caughtBy: { file: 'unit/signed-tokens.test.ts', title: 'operator.single-use: no changed byte is accepted, and another encoding' },
  },
  {
    rule: 'operator.single-use',
    removes: 'an expired token that was forgotten is still refused',
    edits: [edit("  if (expiresAt <= now) return 'expired'\n", '  expiresAt = Math.max(expiresAt, now + 1)\n')],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'operator.single-use: of many uses of one state at the same time one is accepted' },
  },
  {
    rule: 'operator.single-use',
    removes: 'a state is used before the provider is asked',
    edits: [
      edit("if ((await store.write.useSignInState(response.state.use)) !== 'accepted')", 'if (response.state.use.expiresAt <= 0)', {
        at: 'operator.single-use',
      }),
    ],
    caughtBy: { file: oidcTest, title: 'operator.single-use: a state is used up by its first response' },
  },
  {
    rule: 'operator.invitation',
    removes: 'an invitation is used up',
    edits: [
      edit(
        "`delete from sign_in_secrets where digest = $1 and purpose = 'invitation' and expires_at > $2 returning operator_id`",
        "`select operator_id from sign_in_secrets where digest = $1 and purpose = 'invitation' and expires_at > $2`",
      ),
    ],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'operator.invitation: of many uses of one link at the same time' },
  },
  {
    rule: 'operator.invitation',
    removes: 'accepting one ends the sessions',
    edits: [edit('  await endSessions(sql, id)\n  return findOperator(sql, id)\n', '  return findOperator(sql, id)\n')],
    caughtBy: { file: linkTest, title: 'operator.invitation: a new link ends the earlier one' },
  },
  {
    rule: 'operator.recovery',
    removes: 'a link is accepted once',
    edits: [
      edit(
        "  const use = await useToken(sql, token)\n  if (use !== 'accepted') return { kind: use }\n",
        "  const use = await useToken(sql, token)\n  if (use === 'expired') return { kind: use }\n",
        { at: 'operator.recovery' },
      ),
    ],
    caughtBy: { file: linkTest, title: 'operator.recovery: of twenty uses of one link at the same time' },
  },
  {
    rule: 'operator.recovery',
    removes: 'a used link costs no hash',
    edits: [edit('if (!token || !(await store.read.isTokenUnused(token.use)))', 'if (!token)', { at: 'operator.recovery-2' })],
    caughtBy: { file: linkTest, title: 'operator.recovery: a link that was used costs no hash of a password' },
  },
  {
    rule: 'operator.recovery',
    removes: 'the key of the installation is needed',
    edits: [
      edit(
        'const key = keys.find((one) => timingSafeEqual(macOf(one, purpose, json), bytes.subarray(0, macBytes)))',
        'const key = keys.find((one) => macOf(one, purpose, json).length === macBytes)',
      ),
    ],
    caughtBy: { file: linkTest, title: 'operator.recovery: a link that has expired, of another key' },
  },
  {
    rule: 'operator.passkey',
    removes: 'a challenge is accepted once',
    edits: [
      edit(
        "  const use = await useToken(sql, challenge)\n  if (use !== 'accepted') return { kind: use }\n  const used",
        "  const use = await useToken(sql, challenge)\n  if (use === 'expired') return { kind: use }\n  const used",
      ),
    ],
    caughtBy: { file: passkeyTest, title: 'operator.passkey: a challenge is accepted once' },
  },
  {
    rule: 'operator.passkey',
    removes: 'a passkey signs in its own account',
    edits: [edit("if (given.response.userHandle !== Buffer.from(operatorId).toString('base64url'))", "if (operatorId === '')")],
    caughtBy: { file: passkeyTest, title: 'operator.passkey: what another site, another account or a device without verification signed' },
  },
  {
    rule: 'operator.passkey',
    removes: 'a new passkey has verified its user',
    edits: [
      edit(
        '          requireUserVerification: true,\n          supportedAlgorithmIDs: algorithms,\n',
        '          requireUserVerification: false,\n          supportedAlgorithmIDs: algorithms,\n',
      ),
    ],
    caughtBy: { file: passkeyTest, title: 'operator.passkey: what another site, another account or a device without verification signed' },
  },
  {
    rule: 'operator.passkey',
    removes: 'a passkey is added with the challenge of the own session',
    edits: [edit("&& challenge.content['sessionId'] === sessionId", "&& sessionId !== ''")],
    caughtBy: { file: passkeyTest, title: 'operator.passkey: adding one needs the own challenge' },
  },
  {
    rule: 'operator.passkey',
    removes: 'only known transports are stored',
    edits: [edit('transports: knownTransports(transports), challenge', 'transports: transports ?? [], challenge')],
    caughtBy: { file: passkeyTest, title: 'operator.passkey: of the transports that a browser sends, only known ones are stored' },
  },
  {
    rule: 'operator.passkey',
    removes: 'the only way to sign in is not removed',
    edits: [edit("passkeys.length === 1) return 'only_sign_in'", "passkeys.length === 0) return 'only_sign_in'")],
    caughtBy: { file: passkeyTest, title: 'operator.passkey: the only way to sign in is not removed' },
  },
  {
    rule: 'operator.oidc',
    removes: 'the email address is verified',
    edits: [edit('return isTrue(single(email_verified)) ||', 'return single(email_verified) !== false ||')],
    caughtBy: { file: oidcTest, title: 'operator.oidc: only verified addresses of the allowed domains sign in' },
  },
  {
    rule: 'operator.oidc',
    removes: 'an address with a character that stands for another one is refused',
    edits: [edit("trimmed.normalize('NFKC') === trimmed ?", "trimmed !== '' ?")],
    caughtBy: { file: claimsUnit, title: 'operator.oidc: an address with a character that lower case turns into another letter' },
  },
  {
    rule: 'operator.oidc',
    removes: 'an address is verified by what is said about itself',
    edits: [edit('address !== undefined && address === addressOf(more) ? both : own', 'both')],
    caughtBy: { file: claimsUnit, title: 'operator.oidc: an address of the ID token is not verified by what UserInfo says' },
  },
  {
    rule: 'operator.oidc',
    removes: 'an address that the provider calls unverified does not sign in for its domain',
    edits: [edit('((email_verified ?? undefined) === undefined && (isTrue(edov)', "(email_verified !== 'unverified' && (isTrue(edov)")],
    caughtBy: { file: identityTest, title: 'operator.oidc: a verified address signs in however the provider writes it' },
  },
  {
    rule: 'operator.oidc',
    removes: 'the names in an object are no roles',
    edits: [edit('isZitadelClaim(roles.claim) ? zitadelRoles(one) : [one]', 'roles.claim ? zitadelRoles(one) : [one]')],
    caughtBy: { file: identityTest, title: 'operator.oidc: nothing else in the claims gives a role' },
  },
  {
    rule: 'operator.oidc',
    removes: 'its domain is allowed',
    edits: [edit('rules.domains.includes(domain)', 'rules.domains.some((one) => domain.includes(one))')],
    caughtBy: { file: oidcTest, title: 'operator.oidc: only verified addresses of the allowed domains sign in' },
  },
  {
    rule: 'operator.oidc',
    removes: 'the state belongs to the browser',
    edits: [edit("|| !isSame(digest(cookie), state.content['cookie'] ?? '')", "|| isSame(digest(cookie), '')")],
    caughtBy: { file: oidcTest, title: 'operator.oidc: a response is accepted once, in the browser that started' },
  },
  {
    rule: 'operator.oidc',
    removes: 'the state is accepted for ten minutes',
    edits: [edit('export const stateMs = 10 * 60 * 1000', 'export const stateMs = 11 * 60 * 1000')],
    caughtBy: { file: oidcTest, title: 'operator.oidc: a response is accepted once, in the browser that started' },
  },
  {
    rule: 'operator.oidc',
    removes: 'the ID token is signed by the provider',
    edits: [edit('execute: [...execute, enableNonRepudiationChecks]', 'execute: enableNonRepudiationChecks.length > 9 ? [] : execute')],
    caughtBy: { file: oidcTest, title: 'operator.oidc: an ID token of another issuer, audience, nonce or key' },
  },
  {
    rule: 'operator.oidc',
    removes: 'one account has one operator',
    edits: [
      edit("  if (!bound && found.hasCompanyAccount) return { kind: 'other_account' }\n"),
      edit(' and (oidc_subject is null or (oidc_issuer = $2 and oidc_subject = $3))'),
    ],
    caughtBy: { file: oidcTest, title: 'operator.oidc: an invited operator signs in by its verified address once' },
  },
  {
    rule: 'operator.oidc',
    removes: 'the company account replaces the passkeys and sessions',
    edits: [edit('  if (changed > 0) await removeOtherSignIns(sql, id)\n')],
    caughtBy: { file: oidcTest, title: 'operator.oidc: the company account replaces password and passkeys' },
  },
  {
    rule: 'operator.oidc',
    removes: 'an operator without a role is signed out',
    edits: [edit('    if (bound) await endSessions(sql, bound.id)\n')],
    caughtBy: { file: oidcTest, title: 'operator.oidc: roles follow the claim at each sign-in' },
  },
  {
    rule: 'operator.oidc',
    removes: 'a disabled operator never signs in',
    edits: [
      edit("  if (found.state === 'disabled') return { kind: 'disabled' }\n"),
      edit("where id = $5 and state <> 'disabled' and (oidc_subject", 'where id = $5 and (oidc_subject'),
    ],
    caughtBy: { file: oidcTest, title: 'operator.oidc: a disabled operator never signs in' },
  },
  {
    rule: 'session.origin',
    removes: 'a page of another site signs no one in',
    edits: [edit('if (isFromOtherSite(raw)) throw', "if (isFromOtherSite(raw) && raw.method === 'PUT') throw")],
    caughtBy: { file: passwordTest, title: 'session.origin: no way to sign in accepts a request of another site' },
  },
]
