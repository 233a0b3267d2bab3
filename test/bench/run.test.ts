/**
 * The benchmark end to end, at its smallest: real servers, real client processes, and a check that the store has every turn that was
 * counted.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { openBench } from '../../bench/bench.ts'
import { readOptions } from '../../bench/options.ts'
import { BadOptions } from '../support/command-line.ts'

const run = promisify(execFile)
const program = join(import.meta.dirname, '..', '..', 'bench', 'run.ts')

void test('bench: a run of one scenario leaves a table, its figures as JSON and plots', async (t) => {
  const output = await mkdtemp(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rm(output, { recursive: true }))
  const { stdout } = await run(process.execPath, [program, '--quick', '--only', 'stream', '--output', output])
  assert.match(stdout, /^\| server \| callers \| turns\/s \| CPU ms a turn \|/m)
  assert.match(stdout, /^\| turnkeep \| 16 \| [\d.,]+ \| [\d.,]+ \|/m)
  assert.match(stdout, /not run: needs sync with the peer glue/)
  assert.equal((await readFile(join(output, 'results.md'), 'utf8')).match(/^\| turnkeep \|/gm)!.length, 1)
  const { scenarios, goals } = JSON.parse(await readFile(join(output, 'results.json'), 'utf8')) as {
    scenarios: Record<string, { rows: { labels: object; figures: Record<string, { median: number; rounds: number }> }[] }>
    goals: { met?: boolean }[]
  }
  assert.deepEqual(Object.keys(scenarios), ['stream'])
  assert.deepEqual(
    scenarios['stream']!.rows.map(({ labels }) => labels),
    [
      { server: 'the model itself', callers: 16 },
      { server: 'turnkeep', callers: 16 },
    ],
  )
  for (const { figures } of scenarios['stream']!.rows) assert.ok(figures['turns/s']!.median > 0 && figures['turns/s']!.rounds === 1)
  assert.ok(goals.length > 0 && goals.every(({ met }) => met === undefined))
  assert.deepEqual((await readdir(output)).toSorted(), ['results.json', 'results.md', 'stream-cpu.svg', 'stream-rate.svg'])
})

void test('bench: the store has as many turns as complete replies were counted, and an uncounted turn is a failure', async (t) => {
  const bench = openBench({ rounds: 1, seconds: 0.3, quick: true, soakMinutes: 0, storedTurns: 0, upstreamPort: 0, peers: undefined })
  t.after(() => bench.close())
  const server = await bench.startServer()
  const measured = await bench.measure(server, { calls: [server.call('sync'), server.call('stream')], callers: 4, turns: 30 })
  assert.equal(measured.turns, 30)
  assert.deepEqual(await server.usage(), { completed: 30, failed: 0, released: 0 })
  assert.equal((await (await bench.upstream()).stats()).calls, 30)
  await bench.audit(server)
  // Replays are answered and add no turn.
  const keys = ['one', 'two']
  await bench.measure(server, { calls: [server.call('sync')], callers: 1, turns: 2, users: keys, keys })
  await bench.measure(server, { calls: [server.call('stream')], callers: 1, turns: 4, users: keys, keys, replays: true })
  assert.equal((await server.usage()).completed, 32)
  await bench.audit(server)

  const { path, headers, body } = server.call('sync')
  const uncounted = { ...headers, 'content-type': 'application/json', 'idempotency-key': 'uncounted' }
  const answer = await fetch(server.base + path, { method: 'POST', headers: uncounted, body: body.replaceAll(/[{]{2}|[}]{2}/g, '') })
  assert.equal(answer.status, 200)
  await assert.rejects(bench.audit(server), /the store has 33 completed turns, the callers counted 32 whole answers/)
})

void test('bench: a measurement with a failed request is discarded', async (t) => {
  const bench = openBench({ rounds: 1, seconds: 0.3, quick: true, soakMinutes: 0, storedTurns: 0, upstreamPort: 0, peers: undefined })
  t.after(() => bench.close())
  const upstream = await bench.upstream()
  const call = { ...upstream.call('stream'), whole: ['a word that no reply has'] }
  await assert.rejects(
    bench.measure(upstream, { calls: [call], callers: 2, turns: 4 }),
    /the model itself: 4 of its answers failed, \d of them with not whole/,
  )
})

void test('bench: the command refuses unknown options', () => {
  const names = ['sync', 'stream']
  assert.deepEqual(readOptions(['--only', 'stream', '--rounds', '5'], names).only, ['stream'])
  assert.equal(readOptions(['--rounds', '5'], names).rounds, 5)
  assert.equal(readOptions(['--only', 'stream', '--continue'], names).goesOn, true)
  assert.equal(readOptions(['--stored-turns', '10000000'], names).storedTurns, 10_000_000)
  for (const [args, sentence] of [
    [['--only', 'sink'], /no scenario sink; there are sync, stream/],
    [['--rounds', '0'], /--rounds must be a number from 1 on/],
    [['--round', '3'], /round/],
    [['--quick', '--write'], /nothing that could be written/],
    [['--stored-turns', '1000010'], /--stored-turns must be a multiple of 200, not 1000010/],
    [['--continue'], /--continue needs --only/],
    [['--only', 'sync', '--quick', '--continue'], /nothing that could go on/],
    [['--peers', '/nowhere'], /belong together/],
    [['--peers', '/nowhere', '--with', 'glue'], /no adapter for glue/],
  ] as const)
    assert.throws(
      () => readOptions([...args], names),
      (error) => error instanceof BadOptions && sentence.test(error.message),
    )
})
