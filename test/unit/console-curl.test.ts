/** The request of a turn as a command: bash passes any text on as it is, and a terminal shows all of it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { callerSaw, statusOfCode } from '../../packages/console/src/show/caller-saw.ts'
import { curlOf } from '../../packages/console/src/show/shell-quote.ts'
import { failures } from '../../src/errors.ts'
import { hostile } from '../support/hostile-app.ts'

const request = { apiUrl: 'https://api.example.com/', agentId: 'agt_1', externalUserId: 'u', message: 'hi', idempotencyKey: 'k-1' }

describe('console: Copy as curl', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnkeep-curl-'))
    // Prints its arguments instead of sending a request.
    writeFileSync(join(folder, 'curl'), `#!/bin/sh\nprintf '%s\\0' "$@"\n`, { mode: 0o755 })
  })
  after(() => rmSync(folder, { recursive: true }))
  const run = (command: string): string[] =>
    execFileSync('bash', ['-c', command], {
      encoding: 'utf8',
      cwd: folder,
      env: { PATH: `${folder}:${process.env['PATH']}`, TURNKEEP_API_KEY: 'secret' },
    })
      .split('\0')
      .slice(0, -1)

  test('is the call of a caller, with the API key as a variable', () => {
    assert.deepEqual(run(curlOf(request)), [
      'https://api.example.com/v1/agents/agt_1/chat',
      '-H',
      'Authorization: Bearer secret',
      '-H',
      'Idempotency-Key: k-1',
      '-H',
      'Content-Type: application/json',
      '--data-raw',
      '{"external_user_id":"u","message":"hi"}',
    ])
  })

  test('any text arrives as it is, and nothing of it runs', () => {
    const texts = [
      hostile,
      `'; touch owned; '`,
      '$(touch owned)',
      '`touch owned`',
      '!!',
      "\\'",
      '\n\r\t',
      '-o x',
      '@/etc/passwd',
      '\u202e\u200b\u2028',
    ]
    const arrived = (text: string): unknown => JSON.parse(run(curlOf({ ...request, externalUserId: text, message: text })).at(-1)!)
    for (const text of texts) assert.deepEqual(arrived(text), { external_user_id: text, message: text })
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) =>
        assert.deepEqual(arrived(text), { external_user_id: text, message: text }),
      ),
      { numRuns: 15 },
    )
    assert.equal(execFileSync('ls', [folder], { encoding: 'utf8' }), 'curl\n')
  })

  test('shows every character that a terminal would hide or act on', () => {
    const command = curlOf({ ...request, message: 'a\u001b[2J\u202eb\u0085\u{e0041}' })
    assert.ok(command.includes(String.raw`a\u001b[2J\u202eb\u0085\udb40\udc41`), command)
  })
})

describe('console: what the caller of a turn saw', () => {
  test('has the statuses of the API', () => {
    for (const [code, status] of Object.entries(statusOfCode)) assert.equal(failures[code as keyof typeof failures]?.status, status, code)
  })

  test('is the error of a turn without a reply, and says what a retry gets', () => {
    const turn = { failure: { code: 'service_unavailable', cause_kind: null, cause: null }, incomplete: false, first_delta_ms: 3 }
    assert.deepEqual(callerSaw({ ...turn, state: 'released' } as never), {
      response: 'HTTP 503 service_unavailable, Retry-After: 5',
      stream: 'the text so far, then the event error with the code service_unavailable',
      retry: 'A retry runs the turn again under the same request ID.',
    })
    assert.match(callerSaw({ ...turn, failure: null, state: 'cancelled' } as never).response, /^HTTP 409 turn_cancelled$/)
    assert.match(callerSaw({ ...turn, failure: null, state: 'completed' } as never).response, /^HTTP 200/)
  })
})
