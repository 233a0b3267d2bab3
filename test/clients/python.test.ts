/**
 * The Python client: its own tests (clients/python/tests) by python3, with warnings as errors, against a scripted server that they start
 * and against the real service, which is started here with a caller for each kind of response.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { Caller } from '../support/test-app.ts'

const folder = join(import.meta.dirname, '..', '..', 'clients', 'python')
const missing = ['python3', 'openssl'].filter((program) => spawnSync(program, ['version']).error)
const options = { skip: missing.length > 0 && `needs ${missing.join(', ')}: apt-get install ${missing.join(' ')}` }

const asCaller = ({ agentId, apiKey }: Caller) => ({ agent_id: agentId, api_key: apiKey })

void test('python client: its tests pass, none is skipped', options, async () => {
  await using app = await startTestApp()
  app.model.when('In pieces', ['Piece ', 'by ', 'piece.'])
  let failures = 0
  // Three calls of the model are one attempt of the turn.
  app.model.when('Fail at first', () => (failures++ < 3 ? { status: 503, headers: { 'retry-after': '0' } } : 'Well now.'))
  const callers = {
    base_url: app.url,
    usual: asCaller(app.caller),
    listed: asCaller(await app.makeCaller()),
    read_only: asCaller(await app.makeCaller({ key: { permission: 'read-only' } })),
    poor: asCaller(await app.makeCaller({ balanceUsd: '0' })),
    limited: asCaller(await app.makeCaller({ key: { rate_limit: { limit: 1, window_seconds: 60 } } })),
  }
  const said = await runPython(['-m', 'unittest', 'discover', '--verbose', 'tests'], { TURNKEEP_TEST_SERVICE: JSON.stringify(callers) })
  assert.match(said, /^Ran \d+ tests in [\s\S]*^OK$/m)
})

void test('python client: uses only the syntax of its oldest supported version', options, async () => {
  const parse = 'import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 9))'
  await runPython(['-c', parse], {}, readFileSync(join(folder, 'turnkeep.py'), 'utf8'))
})

/** Its output; fails the test if it did not succeed. Leaves no compiled files behind. */
async function runPython(args: string[], environment: Record<string, string>, input = ''): Promise<string> {
  const compiled = await mkdtemp(join(tmpdir(), 'turnkeep-python-'))
  // A failure prints the SEED that it ran with.
  const seed = process.env['SEED'] ? { SEED: process.env['SEED'] } : {}
  const env = { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', PYTHONPYCACHEPREFIX: compiled, ...seed, ...environment }
  const child = spawn('python3', ['-X', 'dev', '-W', 'error', ...args], { cwd: folder, env, stdio: 'pipe' })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  await rm(compiled, { recursive: true })
  assert.equal(code, 0, said)
  return said
}
