/** The supervisor and a worker, each with a small program as the other: what does not end a worker, and what does not end the supervisor. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { pino } from 'pino'
import { startWorkers } from '../../src/process/workers.ts'

function programOf(t: TestContext, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-workers-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'worker.mjs')
  writeFileSync(program, code)
  return program
}

const role = { number: 1, port: 0, adminPort: undefined, makesDemo: false }

void test('workers: a worker that cannot collect its metrics logs why, answers the next time and goes on', async (t) => {
  const program = programOf(
    t,
    `import { openWorkerLink } from '${import.meta.resolve('../../src/process/worker-link.ts')}'
    let asked = 0
    openWorkerLink(process.argv[2]).serve({
      async figures() {
        if (++asked === 1) throw new Error('planted')
        return []
      },
      drain: () => process.exit(0),
      log: { error: ({ err }, message) => process.send({ kind: 'logged', cause: err.message, message }) },
    })
    process.send({ kind: 'serving' })`,
  )
  const child = fork(program, [JSON.stringify(role)], { serialization: 'advanced' })
  t.after(() => child.kill('SIGKILL'))
  const heard = async (): Promise<unknown> => (await Promise.race([once(child, 'message'), once(child, 'exit')]))[0]
  assert.deepEqual(await heard(), { kind: 'serving' })
  child.send({ kind: 'figures_wanted', id: 1 })
  assert.deepEqual(await heard(), { kind: 'logged', cause: 'planted', message: 'could not collect the metrics of this worker' })
  child.send({ kind: 'figures_wanted', id: 2 })
  assert.deepEqual(await heard(), { kind: 'figures', id: 2, figures: [] })
  child.send({ kind: 'drain' })
  assert.deepEqual(await once(child, 'exit'), [0, null])
})

const worker = `
  process.send({ kind: 'ready', ready: { url: 'u', adminUrl: 'a', limiter: 'ok', demo: undefined } })
  process.on('message', () => process.exit(0))
  process.on('disconnect', () => process.exit(0))`

function startOne(t: TestContext) {
  const logged: { msg: string; pid: number }[] = []
  const log = pino({ base: null }, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const ports = { port: 0, adminPort: undefined }
  const workers = startWorkers({
    count: 1,
    program: programOf(t, worker),
    environment: process.env,
    ports,
    makesDemo: false,
    drainSeconds: 0,
    log,
  })
  t.after(() => workers.kill())
  const linesOf = (msg: string) => logged.filter((line) => line.msg === msg)
  return { workers, linesOf }
}

/** As for a lack of memory, Node throws before it has started a process. */
function withoutMemory(t: TestContext): () => void {
  process.execArgv.push('a\0b')
  const end = (): void => void (process.execArgv = process.execArgv.filter((arg) => arg !== 'a\0b'))
  t.after(end)
  return end
}

void test('workers: a worker that the system cannot start again for now is started later', async (t) => {
  const { workers, linesOf } = startOne(t)
  await workers.ready
  const end = withoutMemory(t)
  process.kill(linesOf('worker ready')[0]!.pid, 'SIGKILL')
  while (linesOf('could not start or reach worker').length === 0) await pass(10, undefined, { signal: t.signal })
  end()
  while (linesOf('worker ready').length < 2) await pass(10, undefined, { signal: t.signal })
  workers.drain()
  assert.deepEqual(await workers.ended, { code: 0 })
})

void test('workers: a first worker that the system cannot start ends the start with its cause in the log', async (t) => {
  const end = withoutMemory(t)
  const { workers, linesOf } = startOne(t)
  end()
  assert.deepEqual(await workers.ended, { code: 1, line: undefined })
  assert.equal(linesOf('could not start or reach worker').length, 1)
})
