/**
 * Failpoints: how they are specified, counted and logged, and what they do; kills in a separate process. docs/failpoints.md has their table
 * (after an intended change: `node test/failpoints.test.ts --update-golden`). Their effects in a real server: race/every-failpoint.ts.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  createFailpoints,
  failpointDrops,
  failpointNames,
  failpointStores,
  FailpointSyntaxError,
  FailpointThrown,
  misplacedFailpoint,
  noFailpoints,
} from '../src/failpoints.ts'
import type { FailpointName } from '../src/failpoints.ts'

const root = join(import.meta.dirname, '..')

describe('failpoints', () => {
  test('without a specification nothing happens', async () => {
    assert.equal(createFailpoints(''), noFailpoints)
    assert.equal(createFailpoints(' ; '), noFailpoints)
    noFailpoints.hit('model.delta')
    await noFailpoints.reach('model.delta')
  })

  test('throw acts at every hit of its own name', async () => {
    const failpoints = createFailpoints('model.delta=throw')
    failpoints.hit('model.done')
    assert.throws(() => failpoints.hit('model.delta'), FailpointThrown)
    await assert.rejects(failpoints.reach('model.delta'), FailpointThrown)
  })

  test('@n acts at the n-th hit alone', () => {
    const failpoints = createFailpoints('model.delta=throw@3')
    failpoints.hit('model.delta')
    failpoints.hit('model.delta')
    assert.throws(() => failpoints.hit('model.delta'), FailpointThrown)
    failpoints.hit('model.delta')
  })

  test('if:text counts and acts on keys that contain the text', () => {
    const failpoints = createFailpoints('model.delta=throw@2 if:the poison')
    failpoints.hit('model.delta', 'bread')
    failpoints.hit('model.delta')
    failpoints.hit('model.delta', 'drink the poison now')
    assert.throws(() => failpoints.hit('model.delta', 'the poison'), FailpointThrown)
  })

  test('delay waits, in synchronous code too', async () => {
    const failpoints = createFailpoints('model.delta=delay:30')
    const began = performance.now()
    failpoints.hit('model.delta')
    await failpoints.reach('model.delta')
    assert.ok(performance.now() - began >= 55)
  })

  test('one point may have several actions, and its specification is passed on', () => {
    const spec = 'model.delta=delay:1@1;model.delta=throw@2'
    const failpoints = createFailpoints(spec)
    assert.equal(failpoints.spec, spec)
    failpoints.hit('model.delta')
    assert.throws(() => failpoints.hit('model.delta'), FailpointThrown)
  })

  test('drop cuts the connection that the point gives it, and continues', async () => {
    const failpoints = createFailpoints('model.delta=drop@2; commit.sent=drop')
    const cut: string[] = []
    failpoints.hit('model.delta', 'm', () => void cut.push('first'))
    failpoints.hit('model.delta', 'm', () => void cut.push('second'))
    await failpoints.reach('commit.sent', 'settle_v2', () => void cut.push('third'))
    assert.deepEqual(cut, ['second', 'third'])
    assert.throws(() => createFailpoints('stream.before-delta=drop').hit('stream.before-delta'), /no connection to drop/)
  })

  test('an action that can never occur on a store is reported, and a possible one is not', () => {
    assert.match(misplacedFailpoint('commit.sent=kill', 'sqlite')!, /commit\.sent/)
    assert.match(misplacedFailpoint('start.after-leases-ended=kill', 'postgres')!, /start\.after-leases-ended/)
    assert.match(misplacedFailpoint('model.delta=drop; settle.before-commit=drop', 'sqlite')!, /settle\.before-commit/)
    assert.equal(misplacedFailpoint('commit.sent=drop; settle.before-commit=drop', 'postgres'), undefined)
    assert.equal(misplacedFailpoint('settle.before-commit=kill; model.delta=drop', 'sqlite'), undefined)
  })

  for (const spec of [
    'model.done=drop',
    'settle.after-commit=drop',
    'model.delta=drop:5',
    'model.delta',
    'model.delta=',
    'model.delta=stop',
    'model.delta=kill@0',
    'model.delta=delay',
    'model.delta=kill if:',
    'nowhere=kill',
    'toString=kill',
    '=kill',
  ]) {
    test(`refuses ${JSON.stringify(spec)}`, () => assert.throws(() => createFailpoints(spec), FailpointSyntaxError))
  }

  for (const [way, call, thread] of [
    ['hit', 'hit', 'main'],
    ['reach', 'reach', 'main'],
    ['hit in a worker thread', 'hit', 'worker'],
  ] as const) {
    test(`kill ends the process by SIGKILL and nothing runs after it: ${way}`, () => {
      const source = `
        import { createFailpoints } from ${JSON.stringify(import.meta.resolve('../src/failpoints.ts'))}
        const failpoints = createFailpoints('model.delta=kill@2')
        await failpoints.${call}('model.delta')
        await failpoints.${call}('model.delta')
        console.log('after')`
      const inWorker = `
        import { Worker } from 'node:worker_threads'
        new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(source)}`)}))`
      const script = thread === 'worker' ? inWorker : source
      const { signal, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 60_000 })
      assert.equal(signal, 'SIGKILL')
      assert.equal(stdout, '')
    })
  }

  test('a point that acts logs it in one whole line, beside a log that every thread writes at the same time', () => {
    const source = (thread: string): string => `
      import { once } from 'node:events'
      import { writeSync } from 'node:fs'
      import { parentPort } from 'node:worker_threads'
      import { createFailpoints } from ${JSON.stringify(import.meta.resolve('../src/failpoints.ts'))}
      const failpoints = createFailpoints('model.delta=delay:0; model.done=throw@2; model.delta=kill@501 if:${thread}')
      for (let n = 0; n < 500; n++) {
        failpoints.hit('model.delta', '${thread}')
        log({ log: 'x'.repeat(n) })
      }
      failpoints.hit('model.done')
      try { failpoints.hit('model.done') } catch {}
      // As the log does it where a pipe does not wait.
      function log(line) {
        for (;;) try { return writeSync(2, JSON.stringify(line) + '\\n') } catch (error) { if (error.code !== 'EAGAIN') throw error }
      }
      ${thread === 'writer' ? "await once(parentPort, 'message'); failpoints.hit('model.delta', 'writer')" : "writer.postMessage('the other log is written')"}`
    const script = `
      import { Worker } from 'node:worker_threads'
      const writer = new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(source('writer'))}`)}))
      ${source('main')}`
    const { signal, stderr, pid } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    assert.equal(signal, 'SIGKILL', stderr.slice(-1000))
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const acted = lines.filter(({ failpoint }) => failpoint !== undefined)
    assert.equal(lines.length - acted.length, 1000)
    assert.deepEqual(acted.at(-1), { failpoint: 'model.delta', action: 'kill', hit: 501, pid })
    assert.deepEqual(
      acted.filter(({ action }) => action === 'throw'),
      Array.from({ length: 2 }, () => ({ failpoint: 'model.done', action: 'throw', hit: 2, pid })),
    )
    // The kill's own rule comes after the delay of the same hit.
    assert.equal(acted.filter(({ action }) => action === 'delay').length, 1001)
  })

  test('docs/failpoints.md has the table of points', () => {
    const file = join(root, 'docs/failpoints.md')
    const rows = (Object.keys(failpointNames) as FailpointName[]).map(
      (name) => `| \`${name}\` | ${failpointNames[name]} | ${failpointDrops[name] ?? ''} | ${failpointStores[name] ?? ''} |\n`,
    )
    const table = `| point | the moment | drop | store |\n|---|---|---|---|\n${rows.join('').replaceAll(/ {2,}\|/g, ' |')}`
    const page = readFileSync(file, 'utf8')
    const before = page.slice(0, page.indexOf('## The points'))
    const intro = page.slice(before.length, page.indexOf('\n\n', page.indexOf('\n\n', before.length) + 2) + 2)
    const wanted = before + intro + table
    if (process.argv.includes('--update-golden')) writeFileSync(file, wanted)
    assert.equal(readFileSync(file, 'utf8'), wanted)
  })

  test('every named point is used in the code', () => {
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && file !== 'failpoints.ts',
    )
    const code = files.map((file) => readFileSync(join(root, 'src', file), 'utf8')).join('\n')
    const missing = Object.keys(failpointNames).filter((name) => !code.includes(`'${name}'`))
    assert.deepEqual(missing, [])
  })
})
