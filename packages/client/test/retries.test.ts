/** The table of retries, compared with the pages of docs/errors and the service's own table; and the waits. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { failures } from '../../../src/errors.ts'
import { APIConnectionError, APIConnectionTimeoutError, APIUserAbortError } from '../src/client.ts'
import { makeApiError } from '../src/errors.ts'
import { codesSentAgain, readRetryAfter, sentAgain, waitMs } from '../src/retries.ts'
import { statusOfCode } from '../src/status-of-code.ts'

const pages = globSync('docs/errors/*.md', { cwd: join(import.meta.dirname, '../../..') })

function factsOf(page: string): { retryAfter: string; retryWith: string } {
  const text = readFileSync(join(import.meta.dirname, '../../..', page), 'utf8')
  const fact = (name: string): string => new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(text)?.[1] ?? assert.fail(`${page}: ${name}`)
  return { retryAfter: fact('`Retry-After`'), retryWith: fact('retry with') }
}

test('retried are exactly the codes whose page says "the same key", without a condition, and a Retry-After', () => {
  const again: string[] = []
  for (const page of pages) {
    const code = basename(page, '.md')
    const { retryAfter, retryWith } = factsOf(page)
    const bySelf = /^the same key(, always)?$/.test(retryWith)
    // The window of a spend limit may end in weeks or never: no one waits for that in a call.
    assert.equal(
      bySelf,
      retryAfter !== 'none' && !retryAfter.endsWith('none if it never ends'),
      `${code}: ${retryWith}, Retry-After ${retryAfter}`,
    )
    for (const status of [400, 409, 429, 500, 503])
      assert.equal(sentAgain(makeApiError('', { code, status })) !== undefined, bySelf, `${code} with ${status}`)
    if (bySelf) again.push(code)
  }
  assert.deepEqual(again.toSorted(), Object.keys(codesSentAgain).toSorted())
})

test('the codes that can end a stream have the statuses of the service', () => {
  for (const [code, status] of Object.entries(statusOfCode)) assert.equal(new Map(Object.entries(failures)).get(code)?.status, status, code)
})

test('without a code of the service: broken connections, 408, 429 and every 5xx are retried, an abort and other statuses never', () => {
  const unnamed = (status: number) => sentAgain(makeApiError('', { status }))
  for (const status of [408, 429, 500, 502, 503, 504, 520, 599]) assert.equal(unnamed(status), 'fails', String(status))
  for (const status of [0, 301, 307, 400, 401, 403, 404, 405, 409, 413, 422, 431]) assert.equal(unnamed(status), undefined, String(status))
  assert.equal(sentAgain(new APIConnectionError('')), 'fails')
  assert.equal(sentAgain(new APIConnectionTimeoutError('')), 'fails')
  assert.equal(sentAgain(new APIUserAbortError('')), undefined)
  assert.equal(sentAgain(new TypeError('a bug')), undefined)
  assert.equal(sentAgain(makeApiError('', { status: 503, code: 'constructor' })), undefined)
})

test('a wait is never shorter than Retry-After, and at most a fifth and a second longer', () => {
  for (const seconds of [0.01, 1, 2, 5, 60, 3_600]) {
    assert.equal(waitMs(seconds, 0, 0), seconds * 1_000)
    assert.equal(waitMs(seconds, 7, 1), seconds * 1_000 + Math.min(seconds * 200, 1_000))
  }
})

test('without Retry-After the wait starts at half a second and doubles up to eight, minus up to half of it', () => {
  const longest = [0, 1, 2, 3, 4, 5, 50, 5_000].map((sent) => waitMs(undefined, sent, 0))
  assert.deepEqual(longest, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000])
  for (const [sent, wait] of longest.entries()) assert.equal(waitMs(0, sent, 1), waitMs(undefined, sent, 1), `${sent}, ${wait}`)
  assert.equal(waitMs(undefined, 2, 1), 1_000)
})

test('Retry-After is parsed as seconds or an HTTP date, and nothing else', () => {
  const now = Date.parse('Sun, 22 Nov 2026 19:00:00 GMT')
  assert.equal(readRetryAfter('5', now), 5)
  assert.equal(readRetryAfter(' 0 ', now), 0)
  assert.equal(readRetryAfter('Sun, 22 Nov 2026 19:01:30 GMT', now), 90)
  assert.equal(readRetryAfter('Sun, 22 Nov 2026 18:00:00 GMT', now), 0)
  for (const text of [null, '', 'soon', '-5', '1e3', '0x10']) assert.equal(readRetryAfter(text, now), undefined, String(text))
})
