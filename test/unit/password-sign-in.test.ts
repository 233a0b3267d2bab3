/** `operator.guesses`: what a flood of sign-ins with made-up accounts and cookies changes for others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswordSignIn } from '../../src/admin/sign-in/password-sign-in.ts'
import type { AdminRequest } from '../../src/admin/admin-store.ts'
import { createPasswords } from '../../src/operators/passwords.ts'
import type { HashOrder, Passwords } from '../../src/operators/passwords.ts'
import { createSignedTokens } from '../../src/operators/signed-tokens.ts'

const ada = { id: 'opr_1', email: 'ada@acme.example', state: 'active', passwordHash: null }
const request = {
  accounts: { read: { findOperatorByEmail: async (email: string) => (email === ada.email ? ada : undefined) } },
} as unknown as AdminRequest
const tokens = createSignedTokens([new Uint8Array(32)])

function signIns(passwords: Passwords) {
  const signIn = createPasswordSignIn({ passwords, tokens })
  const counted: string[] = []
  return {
    counted,
    knownBrowser: signIn.knownBrowser(request, ada.id),
    /** A wrong sign-in. Returns the code of its error. */
    guess: (email: string, browser: string | undefined): Promise<string> =>
      signIn
        .checkPassword(request, { email, password: 'a wrong password', browser }, (account) => {
          counted.push(account)
          return () => undefined
        })
        .then(
          () => 'right',
          (error: { code: string }) => error.code,
        ),
  }
}

void test('operator.guesses: a guess that is refused because too many wait is not counted, so that it makes no count be forgotten', async () => {
  const { counted, guess } = signIns(createPasswords({ logN: 10, r: 8, p: 1 }))
  const codes = await Promise.all(Array.from({ length: 50 }, (_, index) => guess(`account-${index}@acme.example`, undefined)))
  assert.equal(codes.filter((code) => code === 'rate_limit_exceeded').length, 33)
  assert.equal(counted.length, 17, 'one is checked and 16 wait')
})

void test('operator.guesses: only the cookie of a sign-in to this account is checked before others; a made-up one waits with all', async () => {
  const orders: HashOrder[] = []
  const passwords: Passwords = {
    ...createPasswords({ logN: 4, r: 8, p: 1 }),
    async matches(_password, _stored, order) {
      orders.push(order)
      return false
    },
  }
  const { guess, knownBrowser } = signIns(passwords)
  const forGrace = createSignedTokens([new Uint8Array(32)]).sign('browser', Number.MAX_SAFE_INTEGER, { operatorId: 'opr_2' })
  for (const [email, browser] of [
    [ada.email, undefined],
    [ada.email, 'made-up'],
    [ada.email, forGrace],
    ['no-one@acme.example', knownBrowser],
    [ada.email, knownBrowser],
  ] as const)
    assert.equal(await guess(email, browser), 'unauthorized')
  assert.deepEqual(orders, ['last', 'last', 'last', 'last', 'first'])
})
