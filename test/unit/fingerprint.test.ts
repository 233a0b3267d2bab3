/** `idempotency.fingerprint`: equal exactly when both texts are equal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fingerprint } from '../../src/turn/fingerprint.ts'

const hex = (user: string, message: string): string => Buffer.from(fingerprint(user, message)).toString('hex')

void test('idempotency.fingerprint: equal texts have equal fingerprints, and different texts have different ones', () => {
  assert.notEqual(hex('ann', 'hello'), hex('bob', 'hello'))
  assert.notEqual(hex('ann', 'hello'), hex('ann', 'howdy'))
  const texts = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(texts, texts, texts, texts, (user, message, otherUser, otherMessage) => {
      assert.equal(hex(user, message), hex(user, message))
      const same = user === otherUser && message === otherMessage
      assert.equal(hex(user, message) === hex(otherUser, otherMessage), same)
      assert.equal(hex(user, message) === hex(otherUser, message), user === otherUser)
      assert.equal(hex(user, message) === hex(user, otherMessage), message === otherMessage)
    }),
  )
})

void test('idempotency.fingerprint: lengths keep the two fields apart, and nothing is normalized', () => {
  assert.notEqual(hex('ab', 'c'), hex('a', 'bc'))
  assert.notEqual(hex('é', 'x'), hex('e\u0301', 'x'))
  assert.notEqual(hex('x', 'é'), hex('x', 'e\u0301'))
  assert.notEqual(hex('a', ' x'), hex('a', 'x'))
  assert.equal(fingerprint('a', 'b').length, 32)
})
