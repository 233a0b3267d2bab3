/** `npm run chaos` as a process: its exit codes, its report on a run that does not count, and that it leaves nothing behind, however it ends. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { until } from '../support/until.ts'
import { makeFolder } from '../support/test-app.ts'
import type { Report } from './table.ts'

const program = join(import.meta.dirname, 'run.ts')

type Run = { child: ChildProcess; said(): string; code: Promise<number | null>; json: string; temporary: string }

/** Its temporary files are in a folder of the test's own, and so are those of everything that it starts. */
async function start(t: TestContext, args: string[]): Promise<Run> {
  const folder = await makeFolder()
  const [json, temporary] = [join(folder, 'report.json'), join(folder, 'tmp')]
  await mkdir(temporary)
  const child = spawn(process.execPath, [program, ...args, '--json', json], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(async () => {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  const code = once(child, 'close').then(([value]) => value as number | null)
  return { child, said: () => said, code, json, temporary }
}

/** Processes of this machine whose home is a run's own folder: its servers. */
function serversOf({ temporary }: Run): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => environmentOf(pid).includes(`HOME=${temporary}`))
}

/** Empty where the process ended while the list was read. */
function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    return ''
  }
}

/** Nothing but the history of a run that was ended, which its maker wants to see. */
const leftBehind = ({ temporary }: Run): string[] => readdirSync(temporary).filter((name) => !name.endsWith('.jsonl'))

void test('a short run with kills finds nothing, and leaves nothing behind', { skip: noProc() }, async (t) => {
  const run = await start(t, ['--minutes', '0.1', '--seed', '7', '--callers', '6', '--faults', 'kill,verify'])
  assert.equal(await run.code, 0, run.said())
  const report = JSON.parse(readFileSync(run.json, 'utf8')) as Report
  assert.deepEqual(report.violations, [])
  assert.ok(report.kills > 0)
  assert.ok((report.counts['turns'] ?? 0) > 0)
  assert.match(run.said(), /no violation/)
  assert.deepEqual([readdirSync(run.temporary), serversOf(run)], [[], []])
})

void test('a run in which a failpoint never acted does not count', { skip: noProc() }, async (t) => {
  const run = await start(t, ['--minutes', '0.05', '--seed', '7', '--callers', '4', '--faults', 'failpoint'])
  assert.equal(await run.code, 1, run.said())
  const report = JSON.parse(readFileSync(run.json, 'utf8')) as Report
  assert.ok(report.neverActed.length > 0)
  assert.match(run.said(), /NEVER[\s\S]*this run does not count/)
  assert.deepEqual([leftBehind(run), serversOf(run)], [[], []])
})

for (const signal of ['SIGINT', 'SIGKILL'] as const)
  void test(`a run that is ended by ${signal} takes its servers and its folder along`, { skip: noProc() }, async (t) => {
    const run = await start(t, ['--minutes', '5', '--seed', '7', '--callers', '4', '--faults', 'kill,disk'])
    await until('a server', () => serversOf(run).length > 0)
    run.child.kill(signal)
    const code = await run.code
    assert.equal(code, signal === 'SIGINT' ? 1 : null)
    await until('nothing left', () => leftBehind(run).length === 0 && serversOf(run).length === 0)
  })

void test('options that make no run end with 2, with the reason and the command for help', { skip: noProc() }, async (t) => {
  const run = await start(t, ['--stores', 'sqlite'])
  assert.equal(await run.code, 2)
  assert.match(run.said(), /--stores[\s\S]*--help/)
})

/** Why these tests cannot run here; false where they can. */
function noProc(): string | false {
  return !existsSync('/proc/self/environ') && 'what runs is looked up in /proc'
}
