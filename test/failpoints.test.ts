/** Named crash points: what they read, count and do; killed in a process of their own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createFailpoints, failpointNames, FailpointSyntaxError, FailpointThrown, noFailpoints } from '../src/failpoints.ts'

const root = join(import.meta.dirname, '..')

describe('failpoints', () => {
  test('nothing named: nothing happens', async () => {
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

  test('one point may have several actions, and its specification travels', () => {
    const spec = 'model.delta=delay:1@1;model.delta=throw@2'
    const failpoints = createFailpoints(spec)
    assert.equal(failpoints.spec, spec)
    failpoints.hit('model.delta')
    assert.throws(() => failpoints.hit('model.delta'), FailpointThrown)
  })

  for (const spec of [
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
      const { signal, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', timeout: 10_000 })
      assert.equal(signal, 'SIGKILL')
      assert.equal(stdout, '')
    })
  }

  test('every named point stands somewhere in the code', () => {
    const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && file !== 'failpoints.ts',
    )
    const code = files.map((file) => readFileSync(join(root, 'src', file), 'utf8')).join('\n')
    const missing = Object.keys(failpointNames).filter((name) => !code.includes(`'${name}'`))
    assert.deepEqual(missing, [])
  })
})
