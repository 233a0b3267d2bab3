/** Runs one command `turnkeep …` in a separate process to its end, as a person would. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { adminToken } from './test-app.ts'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

export type Ran = { code: number | null; stdout: string; stderr: string }

/** Of this process's environment only PATH is passed on. The admin token must never be in the output. */
export async function runCommand(args: string[], environment: Record<string, string> = {}, input = ''): Promise<Ran> {
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  const child = spawn(process.execPath, [command, ...args], { env, stdio: 'pipe' })
  const ran: Ran = { code: null, stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (piece: string) => (ran[stream] += piece))
  // A command may end without reading its input, which is not tested here.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  ran.code = (await once(child, 'close'))[0] as number | null
  assert.ok(!(ran.stdout + ran.stderr).includes(adminToken), 'the admin token was printed')
  return ran
}
