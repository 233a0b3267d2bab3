/** `operator.single-use`: what a signed token proves. That one is used once is tested with the store (spec/operator-links.test.ts). */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createSignedTokens } from '../../src/operators/signed-tokens.ts'

const key = randomBytes(32)
const tokens = createSignedTokens([key])

void test('operator.single-use: a token is read for its purpose alone, with its content, and no two are the same', () => {
  const text = tokens.sign('oidc', 123, { replaces: 'ses_1', cookie: null })
  assert.match(text, /^[\w-]+$/)
  const read = tokens.read('oidc', text)!
  assert.deepEqual([read.use.expiresAt, read.content], [123, { replaces: 'ses_1', cookie: null }])
  assert.equal(tokens.read('recovery', text), undefined)
  assert.notEqual(tokens.sign('oidc', 123), tokens.sign('oidc', 123))
})

void test('operator.single-use: no changed byte is accepted, and another encoding of the same bytes is the same token', () => {
  const text = tokens.sign('recovery', 123)
  const bytes = Buffer.from(text, 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed[index]! ^= 1
    assert.equal(tokens.read('recovery', changed.toString('base64url')), undefined, `byte ${index}`)
  }
  for (const wrong of ['', 'A', text.slice(0, 43), text.slice(0, -1), `${text}AAAA`, 'A'.repeat(100_000)])
    assert.equal(tokens.read('recovery', wrong), undefined)
  const padded = tokens.read('recovery', bytes.toString('base64'))!
  assert.deepEqual(padded.use.digest, tokens.read('recovery', text)!.use.digest)
})

void test('operator.single-use: the newest key signs, any key verifies, and a derived secret belongs to one token', () => {
  const [old, both] = [tokens, createSignedTokens([randomBytes(32), key])]
  const text = old.sign('recovery', 5)
  assert.equal(both.read('recovery', text)!.derive('nonce'), old.read('recovery', text)!.derive('nonce'))
  assert.equal(old.read('recovery', both.sign('recovery', 5)), undefined)
  const [one, two] = [old.read('recovery', text)!, old.read('recovery', old.sign('recovery', 5))!]
  assert.equal(new Set([one.derive('nonce'), one.derive('verifier'), two.derive('nonce')]).size, 3)
  assert.match(one.derive('verifier'), /^[\w-]{43}$/)
})
