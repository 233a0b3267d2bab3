/** `operator.password`: which passwords are accepted, and what is stored of one. The parameters are small, except in one test. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords, passwordProblem } from '../../src/operators/passwords.ts'

const ada = { email: 'ada.lovelace@acme.example', name: 'Ada Lovelace' }
const fast = { logN: 4, r: 8, p: 1 }
const password = 'a lamp in the attic'

void test('operator.password: one of 12 to 256 characters is accepted; characters are code points after NFKC', () => {
  for (const accepted of [password, 'kz83-vq21-mx', '𝒶𝒷𝒸𝒹😀😁😂🤣😃😄😅😆', `${'ж'.repeat(8)}абвгд`, `x9x9${'qwzv'.repeat(63)}`])
    assert.equal(passwordProblem(accepted, ada), undefined, accepted)
  // Eleven code points in 22 UTF-16 units, and a letter with a separate accent, which is one character.
  for (const short of ['', 'elevenchars', '😀😁😂🤣😃😄😅😆😉😊😋', 'kz83-vq21-e\u0301'])
    assert.match(passwordProblem(short, ada)!, /at least 12 characters/, short)
  assert.match(passwordProblem('qwzv1'.repeat(52), ada)!, /at most 256 characters/)
})

void test('operator.password: common ones, repetitions, sequences and the own name or address are refused', () => {
  for (const common of ['password1234', 'PassWord1234', 'Ｐassword1234', 'correct horse battery staple'])
    assert.match(passwordProblem(common, ada)!, /most common/)
  for (const dull of ['aaaaaaaaaaaa', '121212121212', 'abcabcabcabcd', '123456789012', '098765432109', 'abcdefghijklm', '1234567890123456'])
    assert.match(passwordProblem(dull, ada)!, /repeats or counts/, dull)
  for (const own of ['ada.lovelace@acme.example', 'AdaLovelace1815', 'Ada Lovelace!', '1815.ada.lovelace', '!!adalovelace!!'])
    assert.match(passwordProblem(own, ada)!, /name or your email address/, own)
})

void test('operator.password: the stored text has the parameters, a new salt each time, and not the password', async () => {
  const passwords = createPasswords(fast)
  const [one, two] = [await passwords.hash(password), await passwords.hash(password)]
  assert.match(one, /^scrypt\$4\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
  assert.notEqual(one, two)
  for (const stored of [one, two]) {
    assert.equal(await passwords.matches(password, stored, 'last'), true)
    assert.equal(await passwords.matches(`${password} `, stored, 'last'), false)
  }
  assert.equal(await passwords.matches('ﬁve dozen ﬁsh', await passwords.hash('five dozen fish'), 'last'), true)
})

void test('operator.password: a hash with other parameters is accepted and reported as outdated', async () => {
  const stored = await createPasswords(fast).hash(password)
  const later = createPasswords({ ...fast, logN: 5 })
  assert.equal(await later.matches(password, stored, 'first'), true)
  assert.deepEqual([later.isOutdated(stored), later.isOutdated(await later.hash(password))], [true, false])
  await assert.rejects(later.matches(password, 'bcrypt$what', 'first'), /unknown format/)
})

void test('operator.password: the parameters are N = 2^16, r = 8, p = 2, and a wrong account takes the same time', async () => {
  const passwords = createPasswords()
  const stored = await passwords.hash(password)
  assert.match(stored, /^scrypt\$16\$8\$2\$/)
  const cpu = async (task: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage()
    await task()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const [wrong, noAccount] = [
    await cpu(() => passwords.matches('another password', stored, 'last')),
    await cpu(() => passwords.matches(password, null, 'last')),
  ]
  assert.equal(await passwords.matches(password, null, 'last'), false)
  assert.ok(noAccount > wrong / 4 && noAccount < wrong * 4, `${noAccount} and ${wrong} µs`)
})

void test('operator.password: one hash at a time, first those who are known; beyond 16 waiting of each kind get a 429', async () => {
  const passwords = createPasswords(fast)
  const stored = await passwords.hash(password)
  const ends: string[] = []
  const ask = (who: string, order: 'first' | 'last'): Promise<void> =>
    passwords.matches(password, stored, order).then(
      () => void ends.push(who),
      (error: { code: string; retryAfterSeconds?: number }) => void ends.push(`${who} ${error.code}`),
    )
  const strangers = Array.from({ length: 20 }, (_, index) => ask(`stranger ${index}`, 'last'))
  const known = ask('known', 'first')
  await Promise.all([...strangers, known])
  const refused = ends.filter((end) => end.includes('rate_limit_exceeded'))
  assert.deepEqual(
    refused,
    ['stranger 17', 'stranger 18', 'stranger 19'].map((one) => `${one} rate_limit_exceeded`),
  )
  const accepted = ends.filter((end) => !end.includes('rate_limit_exceeded'))
  assert.deepEqual(accepted.slice(0, 3), ['stranger 0', 'known', 'stranger 1'])
  assert.equal(accepted.length, 18)
  assert.equal(await passwords.matches(password, stored, 'last'), true, 'a full queue empties')
})
