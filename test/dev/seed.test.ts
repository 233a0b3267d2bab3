/**
 * `npm run seed`: the plan is a function of the seed, the stored data satisfies every invariant, and only a development server allows its
 * clock to be moved.
 */
import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { planTraffic, timeOf } from '../../dev/seed/plan.ts'
import type { Plan } from '../../dev/seed/plan.ts'
import { openForReading } from '../../src/store/sqlite/database.ts'
import { runCommand } from '../support/run-command.ts'
import { showProgram } from '../support/shown-program.ts'
import { showServer } from '../support/shown-server.ts'

const root = join(import.meta.dirname, '../..')
const hourMs = 3_600_000

async function seed(
  args: string[],
  environment: Record<string, string> = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { shown, ended } = showProgram(join(root, 'dev/seed.ts'), args, { TURNKEEP_LOG_LEVEL: 'silent', ...environment })
  return { code: (await ended).code, ...shown }
}

describe('seed: the plan', () => {
  const turnsOf = ({ events }: Plan) => events.flatMap(({ action }) => (action.kind === 'turn' ? [action] : []))

  test('is the same for the same seed, and different for another seed', () => {
    assert.deepEqual(planTraffic(7), planTraffic(7))
    assert.notDeepEqual(turnsOf(planTraffic(7)), turnsOf(planTraffic(8)))
  })

  test('has three owners, five agents, turns on each of thirty days, and every outcome, whatever the seed', () => {
    fc.assert(
      fc.property(fc.nat({ max: 999_999_999 }), (number) => {
        const plan = planTraffic(number)
        assert.deepEqual([plan.owners.length, plan.agents.length], [3, 5])
        const days = new Set(plan.events.flatMap(({ at, action }) => (action.kind === 'turn' && 'daysAgo' in at ? [at.daysAgo] : [])))
        assert.equal(days.size, 30)
        const turns = turnsOf(plan)
        assert.ok(turns.length > 450 && turns.length < 700, `${turns.length} turns`)
        assert.deepEqual([...new Set(turns.map(({ outcome }) => outcome))].toSorted(), [
          'cancelled',
          'completed',
          'failed',
          'incomplete',
          'refused',
          'released',
        ])
        const feedback = turns.flatMap((turn) => turn.feedback ?? [])
        assert.ok(feedback.length > 40 && feedback.length < 200, `${feedback.length} with feedback`)
        for (const rating of ['up', 'down'])
          assert.ok(
            feedback.some((given) => given.rating === rating && given.comment && given.tags),
            rating,
          )
        assert.ok(new Set(turns.map(({ user }) => user)).size >= 8)
      }),
      { numRuns: 50 },
    )
  })

  test('goes forward and never into the future, at any time of day', () => {
    const plan = planTraffic(1)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 24 * hourMs - 1 }), (msOfDay) => {
        const now = Date.UTC(2026, 10, 23) + msOfDay
        const times = [timeOf(plan.start, now), ...plan.events.map(({ at }) => timeOf(at, now))]
        for (const [index, time] of times.entries()) assert.ok(index === 0 || times[index - 1]! < time, `event ${index}`)
        assert.ok(times.at(-1)! < now)
        assert.ok(times[0]! > now - 31 * 24 * hourMs)
      }),
    )
  })
})

describe('seed: what is stored', () => {
  const base = mkdtempSync(join(tmpdir(), 'turnkeep-seed-'))
  const folders = ['first', 'second'].map((name) => join(base, name)) as [string, string]
  let results: Awaited<ReturnType<typeof seed>>[]
  before(async () => void (results = await Promise.all(folders.map((folder) => seed(['--seed', '7', '--data-dir', folder])))))
  after(() => rmSync(base, { recursive: true }))

  test('the command prints what it created, as in the plan', () => {
    const turns = planTraffic(7).events.flatMap(({ action }) => (action.kind === 'turn' ? [action] : []))
    const count = (wanted: string): string => `${turns.filter(({ outcome }) => outcome === wanted).length} ${wanted}`
    const counts = ['completed', 'incomplete', 'failed', 'released', 'cancelled', 'refused'].map(count).join(', ')
    const said = `Turns: ${counts}; ${turns.filter(({ feedback }) => feedback).length} with feedback.`
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 0, stderr)
      assert.match(stdout, /^Seed 7: 3 owners, 5 agents, 9 documents, in \d+ s\.\n/)
      assert.ok(stdout.includes(said), stdout)
    }
  })

  test('two runs store the same names, texts, amounts and counts, at the same times', () => {
    const [first, second] = folders.map(readStored) as [Stored, Stored]
    assert.deepEqual(first.rows, second.rows)
    assert.equal(first.times.length, second.times.length)
    // The runs start together. What differs is how long each took to start.
    for (const [index, time] of first.times.entries()) assert.ok(Math.abs(time - second.times[index]!) < 30_000, `turn ${index}`)
    const days = new Set(first.times.map((time) => Math.floor(time / (24 * hourMs))))
    assert.ok(days.size >= 30, `${days.size} days`)
    assert.ok(first.times.every((time, index) => index === 0 || first.times[index - 1]! <= time))
    assert.ok(first.times.at(-1)! <= Date.now())
  })

  test('every invariant holds, by npx --no-install turnkeep verify', async () => {
    const { code, stdout } = await runCommand(['verify'], { TURNKEEP_DATA_DIR: folders[0] })
    assert.equal(code, 0, stdout)
    assert.match(stdout, /all \d+ invariants hold/)
  })

  test("a folder with data is refused, and so is a running server that already has the seed's data", async () => {
    const again = await seed(['--seed', '8', '--data-dir', folders[0]])
    assert.deepEqual([again.code, again.stderr], [2, `seed: ${folders[0]} already has a database. Name a new folder.\n`])

    const environment = { TURNKEEP_DATA_DIR: folders[1], PORT: '0', NODE_ENV: 'test', TURNKEEP_LOG_LEVEL: 'silent' }
    const server = showProgram(join(root, 'dev/server.ts'), [], environment)
    await server.shows('stdout', /Turnkeep is ready/)
    while (!existsSync(join(folders[1], 'development.sock'))) await new Promise((resolve) => setTimeout(resolve, 10))
    const twice = await seed(['--seed', '7'], { TURNKEEP_DATA_DIR: folders[1] })
    server.child.kill('SIGTERM')
    await server.ended
    assert.equal(twice.code, 2)
    assert.match(
      twice.stderr,
      /^seed: this server already has the data of seed 7, or a part of it .* Choose another seed, or a new data folder\.\n$/,
    )
    assert.equal(existsSync(join(folders[1], 'development.sock')), false, 'the socket is removed at the end')
  })
})

describe('seed: the clock of a production server cannot be moved', () => {
  test("the package's sources never move the clock, and none of them uses the development server", () => {
    const files = globSync('{src,bin}/**/*.{ts,js}', { cwd: root })
    const naming = (text: RegExp): string[] => files.filter((file) => text.test(readFileSync(join(root, file), 'utf8')))
    assert.deepEqual(naming(/moveClock/), ['src/store/sqlite/sqlite.ts'])
    assert.deepEqual(naming(/development\.sock|from '(\.\.\/)+dev\//), [])
  })

  for (const file of ['dev/server.ts', 'dev/dev.ts', 'dev/seed.ts'])
    test(`NODE_ENV=production is refused by ${file}`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'turnkeep-seed-'))
      t.after(() => rmSync(folder, { recursive: true }))
      const environment = { NODE_ENV: 'production', TURNKEEP_DATA_DIR: folder, PORT: '0', TURNKEEP_LOG_LEVEL: 'silent' }
      const program = showProgram(join(root, file), [], environment)
      // A server that starts is ended, and the test fails.
      void program.shows('stdout', /ready/).then(
        () => program.child.kill('SIGTERM'),
        () => undefined,
      )
      assert.deepEqual(await program.ended, { code: 2, signal: null })
      assert.match(program.shown.stderr, /^\w+: .*NODE_ENV[= ](is )?production.*\n$/)
      assert.equal(program.shown.stdout, '')
    })

  test('beside a server started with npm start, the command explains what to do', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-seed-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const server = showServer({ TURNKEEP_DATA_DIR: folder })
    await server.ready()
    const { code, stderr } = await seed([], { TURNKEEP_DATA_DIR: folder })
    await server.stop()
    assert.equal(code, 2)
    assert.match(
      stderr,
      /no development server runs on .*\. Start the server with npm run dev, or run npm run seed -- --data-dir NEW_FOLDER/,
    )
  })
})

describe('seed: options', () => {
  test('--help lists them all', async () => {
    const { code, stdout } = await seed(['--help'])
    assert.equal(code, 0)
    for (const option of ['--seed', '--url', '--data-dir', '--help']) assert.ok(stdout.includes(option), option)
  })

  for (const [args, line] of [
    [['--sead', '1'], /Unknown option '--sead'\. Run npm run seed -- --help\./],
    [['--seed', 'one'], /--seed must be a whole number from 0 to 999999999, not "one"/],
    [['--url', 'nowhere'], /--url must be an address, not "nowhere"/],
    [['--url', 'http://127.0.0.1:1', '--data-dir', 'x'], /--url and --data-dir cannot be used together/],
  ] as const)
    test(`${args.join(' ')} is refused`, async () => {
      const { code, stderr } = await seed([...args])
      assert.equal(code, 2)
      assert.match(stderr, line)
    })

  test('with DATABASE_URL the command does not move the clock of the database', async () => {
    const secrets = { TURNKEEP_ADMIN_TOKEN: 'a-long-enough-token', TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
    const { code, stderr } = await seed([], { DATABASE_URL: 'postgres://127.0.0.1:1/x', ...secrets })
    assert.equal(code, 2)
    assert.match(stderr, /with PostgreSQL the clock belongs to the database/)
  })
})

type Stored = { rows: unknown[]; times: number[] }

/** The part that does not depend on ids and on the time of the run. */
function readStored(folder: string): Stored {
  const db = openForReading(folder)
  try {
    const rows = [
      `select name, balance from owners order by name`,
      `select name, version, model, prompt_price from agent_versions order by name, version`,
      `select name, permission, revoked_at is null as live from api_keys order by name, permission`,
      `select title, status from documents order by title, status`,
      `select role, content, tokens from messages order by created_at, role`,
      `select amount, note, kind from ledger order by created_at, amount`,
      `select state, failure_code, agent_version, prompt_tokens, completion_tokens, charged, incomplete, failure_cause, message from turns order by created_at`,
      `select t.message, f.rating, f.comment, f.tags from feedback f join turns t using (request_id) order by t.created_at`,
    ].map((query) => db.prepare(query).all())
    const times = db.prepare(`select created_at as at from turns order by created_at`).all()
    return { rows, times: times.map(({ at }) => Number(at)) }
  } finally {
    db.close()
  }
}
