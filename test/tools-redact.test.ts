/** Secrets of a tool in what its server repeats: found in every common encoding, and in mixtures of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { answerText } from '../src/agent/tools/answer-text.ts'
import { basicSecrets, withoutSecrets } from '../src/agent/tools/redact.ts'

const secret = 'sk-Canary/+=&"4711<é>!?'
const bytes = Buffer.from(secret)
const each = (write: (codePoint: number, character: string) => string): string =>
  Array.from(secret, (character) => write(character.codePointAt(0)!, character)).join('')
const hexOf = (codePoint: number, digits: number): string => codePoint.toString(16).padStart(digits, '0')

const encodings: Record<string, string> = {
  plain: secret,
  'percent-encoded as a component': encodeURIComponent(secret),
  'percent-encoded, every byte': [...bytes].map((byte) => `%${hexOf(byte, 2)}`).join(''),
  'percent-encoded, every byte, upper case': [...bytes].map((byte) => `%${hexOf(byte, 2).toUpperCase()}`).join(''),
  'percent-encoded twice': encodeURIComponent(encodeURIComponent(secret)),
  'decimal entities': each((codePoint) => `&#${codePoint};`),
  'hexadecimal entities': each((codePoint) => `&#x${hexOf(codePoint, 4)};`),
  'named entities': secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  'all named entities': secret.replaceAll('&', '&amp;').replaceAll('/', '&sol;').replaceAll('+', '&plus;').replaceAll('=', '&equals;'),
  JSON: JSON.stringify(secret).slice(1, -1),
  'JSON, every character escaped': each((codePoint) => `\\u${hexOf(codePoint, 4)}`),
  'JSON within JSON': JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  'escapes of Python': each((codePoint, character) => (codePoint > 127 ? `\\x${hexOf(codePoint, 2)}` : character)),
  'entities within JSON': JSON.stringify(secret.replaceAll('"', '&quot;').replaceAll('&', '&amp;')).slice(1, -1),
  hex: bytes.toString('hex'),
  'hex, upper case': bytes.toString('hex').toUpperCase(),
  base64: bytes.toString('base64'),
  base64url: bytes.toString('base64url'),
  'base64, percent-encoded': encodeURIComponent(bytes.toString('base64')),
  'base64 in JSON of PHP': bytes.toString('base64').replaceAll('/', '\\/'),
}
for (const [name, form] of Object.entries(encodings))
  void test(`tools.private: a secret is removed from a result: ${name}`, () => {
    assert.equal(withoutSecrets(`before ${form} and ${form} after`, [secret]), 'before [secret] and [secret] after')
  })

void test('tools.private: a secret within a longer base64 text is removed, whatever is before and after it', () => {
  for (const key of ['sk-canary-4711', 'sk-canary-47112', 'sk-canary-471123'])
    for (const before of ['', 'u', 'us', 'use', 'user:', 'Authorization: Basic '])
      for (const after of ['', '1', '12', '123'])
        for (const alphabet of ['base64', 'base64url'] as const) {
          const text = Buffer.from(before + key + after).toString(alphabet)
          const shown = withoutSecrets(text, [key])
          assert.match(shown, /\[secret\]/)
          const left = Buffer.from(shown.replace('[secret]', ''), alphabet).toString('latin1')
          assert.ok(!/canary|4711/.test(left), shown)
        }
})

void test('tools.private: a mixture of encodings hides no secret, and other text stays as it is', () => {
  const one = (character: string): fc.Arbitrary<string> => {
    const codePoint = character.codePointAt(0)!
    const percent = [...Buffer.from(character)].map((byte) => `%${hexOf(byte, 2)}`).join('')
    return fc.constantFrom(character, percent, `&#${codePoint};`, `&#X${hexOf(codePoint, 2)};`, `\\u${hexOf(codePoint, 4)}`)
  }
  const mixed = fc.tuple(...Array.from(secret, one)).map((pieces) => pieces.join(''))
  const other = fc.constantFrom('', ' ', '100 % ', 'R&D ', 'a\\b ', '&amp;', '%20', '😀', '%E9', '\\u00e9 ')
  fc.assert(
    fc.property(other, mixed, other, (before, form, after) => {
      assert.equal(withoutSecrets(`${before}${form}${after}`, [secret]), `${before}[secret]${after}`)
    }),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(
      fc.string(),
      (text) => void (text.includes('a-secret-text') || assert.equal(withoutSecrets(text, ['a-secret-text']), text)),
    ),
  )
})

void test('tools.private: secrets within each other, beside each other and of fewer than four letters', () => {
  assert.equal(withoutSecrets('Bearer sk-one-two', ['sk-one-two', 'Bearer sk-one-two', 'one-']), '[secret]')
  assert.equal(withoutSecrets('firstfirstsecond', ['first', 'second']), '[secret][secret][secret]')
  assert.equal(withoutSecrets('abcdef', ['abcd', 'cdef']), '[secret]')
  assert.equal(withoutSecrets('abc', ['abc']), 'abc')
})

void test('tools.private: a header value is decoded only if it has Basic authentication', () => {
  const value = (credentials: string | Buffer): string => `Basic ${Buffer.from(credentials).toString('base64')}`
  assert.deepEqual(basicSecrets(value('user:pass:word')), ['user:pass:word', 'pass:word'])
  assert.deepEqual(basicSecrets(value('user:wörd').toUpperCase().slice(0, 6) + value('user:wörd').slice(6)), ['user:wörd', 'wörd'])
  assert.deepEqual(basicSecrets(value(Buffer.from('user:wörd', 'latin1'))), ['user:wörd', 'wörd'])
  for (const other of ['', 'Basic', 'Basic ', 'Basic realm="a:b"', value('no colon'), value('user:pass').replace('Basic', 'Bearer')])
    assert.deepEqual(basicSecrets(other), [], other)
  assert.equal(withoutSecrets('a user:abc, abc', basicSecrets(value('user:abc'))), 'a [secret], abc')
})

void test('tools.private: a secret at the end of what is shown is removed, and the rest of a long answer is not searched', () => {
  const form = encodings['JSON, every character escaped']!
  for (const before of [32_500, 32_700, 32_768, 65_400, 65_536]) {
    const body = Buffer.from(`${'x'.repeat(before)}${form}${'y'.repeat(100_000)}`)
    const { text } = answerText({ status: 200, contentType: 'text/plain', body, truncated: false }, [secret])
    assert.doesNotMatch(text, /u0073|canary/i)
    assert.ok(text.endsWith('cut here.]') && Buffer.byteLength(text) <= 32_768)
  }
})
