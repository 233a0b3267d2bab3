/** One attacker of each kind beside four tenants with a steady load: what the others notice of it, on each store. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startIdentityProvider } from '../../test/support/identity-provider.ts'
import type { IdentityProvider } from '../../test/support/identity-provider.ts'
import type { AttackNews, AttackOrder, Sending, Shot } from '../attack-process.ts'
import { attacks, exported, lessOf } from '../attacks.ts'
import type { Attack } from '../attacks.ts'
import type { Bench, Call, Load, Row, Scenario, Server, StoreKind } from '../scenario.ts'
import { eachInTurn, storeNames, storesHere, warm } from '../side-by-side.ts'
import { headings, spread } from '../spread.ts'
import { writeSpread } from '../table.ts'
import { startUpstream } from '../upstream.ts'

const tenants = 4
// Far below what the server can do, so that a longer wait is the attacker's work.
const perSecond = 60
const callers = 128
const maxRatio = 2
const program = fileURLToPath(new URL('../attack-process.ts', import.meta.url))
const sampleMs = 50
// What the last attack left to do must not be measured as what the others have alone.
const quietMs = 250
const quietShare = 0.15
const quietWithinMs = 30_000
const exportedTurns = 200
// The turn that is followed writes until the others have been measured, and not much longer: the server waits for it when it stops.
const chunkMs = 20
const longerSeconds = 3

// An attacker that does not report within this time has ended or hangs.
const reportsWithinMs = 30_000

/** `attackCpuMs`: what the server used beside the attacker, until it was quiet again, less what it used alone. */
type Measured = { alone: Load; beside: Load; rssBefore: number; rssMost: number; rssAfter: number; attackCpuMs: number; news: AttackNews }

export const fairness: Scenario = {
  name: 'fairness',
  sentence: `${tenants} tenants, sync and streamed, together ${perSecond} turns a second, alone and beside one attacker who sends what the limits let through; a new server for each attack.`,
  async run(bench) {
    await (await bench.upstream()).configure({})
    const slow = await startUpstream(0)
    await slow.configure({ chunks: Math.ceil(((bench.seconds + longerSeconds) * 1000) / chunkMs), firstMs: chunkMs, gapMs: chunkMs })
    const people = await startIdentityProvider()
    people.allow('http://127.0.0.1/admin/v1/session/oidc/callback')
    try {
      const { kinds, notes } = storesHere(bench)
      const cases = attacks.flatMap((attack) => kinds.map((store) => ({ store, attack })))
      const outcomes = await eachInTurn(cases, ({ store, attack }) => rowOrReason(bench, store, attack, slow.modelUrl, people))
      const rows = outcomes.flatMap((outcome) => (typeof outcome === 'string' ? [] : [outcome]))
      const reasons = outcomes.filter((outcome) => typeof outcome === 'string')
      if (rows.length === 0) throw new Error(reasons.join(' '))
      return { rows, notes: [...notes, ...reasons, ...verdict(rows)] }
    } finally {
      await slow.stop()
      await people.close()
    }
  },
}

/** The row, or a sentence with the reason why there is no row: the other attacks are measured in any case. */
async function rowOrReason(
  bench: Bench,
  store: StoreKind,
  attack: Attack,
  slowUrl: string,
  people: IdentityProvider,
): Promise<Row | string> {
  try {
    const row = rowOf(store, attack, await measure(bench, store, attack, slowUrl, people))
    bench.say(`fairness: ${describe(row)}`)
    return row
  } catch (error) {
    const reason = `${attack.name} (${storeNames[store]}) was not measured: ${error instanceof Error ? error.message : String(error)}.`
    bench.say(`fairness: ${reason}`)
    return reason
  }
}

async function measure(bench: Bench, store: StoreKind, attack: Attack, slowUrl: string, people: IdentityProvider): Promise<Measured[]> {
  const oidc = {
    TURNKEEP_OIDC_ISSUER: people.issuer,
    TURNKEEP_OIDC_CLIENT_ID: people.clientId,
    TURNKEEP_OIDC_CLIENT_SECRET: people.clientSecret,
  }
  const server = await bench.startServer({ store, env: oidc, openFiles: 10_000 })
  try {
    return await measureOn(bench, server, attack, slowUrl)
  } finally {
    await server.stop()
  }
}

async function measureOn(bench: Bench, server: Server, attack: Attack, slowUrl: string): Promise<Measured[]> {
  await server.admin('POST', '/providers', { name: 'slow', kind: 'openai-compatible', base_url: slowUrl, api_key: 'none' })
  await warm(bench, server)
  const exportedLoad = { calls: [server.call('sync')], callers: 1, turns: bench.quick ? 5 : exportedTurns, users: [exported] }
  await bench.measure(server, exportedLoad)
  const others = await eachInTurn(Array.from({ length: tenants }), () => server.makeTenant())
  const calls = others.flatMap((tenant) => [tenant.call('sync'), tenant.call('stream')])
  const sending = bench.quick ? lessOf(attack.sending) : attack.sending
  // What a process loads, compiles or builds for the first of these requests is no part of what each of them costs.
  await besideAttacker(bench, server, calls, await attack.prepare({ server, slowModel: 'slow' }), lessOf(attack.sending))
  return bench.eachRound(async () => {
    await quiet(bench, server)
    const [alone, aloneCpuMs] = await withCpu(bench, server, () => othersLoad(bench, server, calls))
    const shots = await attack.prepare({ server, slowModel: 'slow' })
    const [beside, besideCpuMs] = await withCpu(bench, server, async () => {
      const measured = await besideAttacker(bench, server, calls, shots, sending)
      await quiet(bench, server)
      return measured
    })
    return { alone, ...beside, rssAfter: bench.rssMb(server.pid), attackCpuMs: besideCpuMs - aloneCpuMs }
  })
}

async function withCpu<Result>(bench: Bench, server: Server, act: () => Promise<Result>): Promise<[Result, number]> {
  const before = bench.cpuMs(server.pid)
  const result = await act()
  return [result, bench.cpuMs(server.pid) - before]
}

const othersLoad = (bench: Bench, { base }: Server, calls: Call[]): Promise<Load> =>
  bench.load({ base, calls, callers, perSecond, seconds: bench.seconds, timeoutMs: 60_000 })

async function besideAttacker(
  bench: Bench,
  server: Server,
  calls: Call[],
  shots: Shot[],
  sending: Sending,
): Promise<Omit<Measured, 'alone' | 'rssAfter' | 'attackCpuMs'>> {
  const rssBefore = bench.rssMb(server.pid)
  let rssMost = rssBefore
  const sampling = setInterval(() => (rssMost = Math.max(rssMost, bench.rssMb(server.pid))), sampleMs)
  const attacker = fork(program, { serialization: 'advanced' })
  const tell = (order: AttackOrder): void => void attacker.send(order)
  const heard = async (): Promise<unknown> => {
    const signal = AbortSignal.timeout(reportsWithinMs)
    try {
      return ((await once(attacker, 'message', { signal })) as unknown[])[0]
    } catch (error) {
      throw new Error('the attacker does not respond', { cause: error })
    }
  }
  try {
    await heard()
    tell({ kind: 'attack', base: server.base, shots, sending })
    await heard()
    const beside = await othersLoad(bench, server, calls)
    const report = heard()
    tell({ kind: 'end' })
    return { beside, rssBefore, rssMost, news: (await report) as AttackNews }
  } finally {
    clearInterval(sampling)
    attacker.kill('SIGKILL')
  }
}

/** Until the server has nearly nothing to do. */
async function quiet(bench: Bench, server: Server): Promise<void> {
  const until = performance.now() + quietWithinMs
  for (let before = bench.cpuMs(server.pid); performance.now() < until;) {
    await pass(quietMs)
    const after = bench.cpuMs(server.pid)
    if (after - before < quietShare * quietMs) return
    before = after
  }
}

function rowOf(store: StoreKind, { by, name }: Attack, rounds: Measured[]): Row {
  const over = (of: (round: Measured) => number) => spread(rounds.map(of))
  const answered = (from: number, to: number) =>
    over(({ news }) =>
      Object.entries(news.answers).reduce((sum, [status, many]) => sum + (Number(status) >= from && Number(status) < to ? many : 0), 0),
    )
  return {
    labels: { store: storeNames[store], attacker: by, attack: name, statuses: statusesOf(rounds) },
    figures: {
      'p50 alone, ms': over(({ alone }) => alone.total.p50),
      'p50 beside, ms': over(({ beside }) => beside.total.p50),
      [p50Ratio]: over(({ alone, beside }) => beside.total.p50 / alone.total.p50),
      'p99 alone, ms': over(({ alone }) => alone.total.p99),
      'p99 beside, ms': over(({ beside }) => beside.total.p99),
      [p99Ratio]: over(({ alone, beside }) => beside.total.p99 / alone.total.p99),
      [failures]: over(({ beside }) => failuresOf(beside)),
      'RSS before, MB': over(({ rssBefore }) => rssBefore),
      'RSS most, MB': over(({ rssMost }) => rssMost),
      'RSS after, MB': over(({ rssAfter }) => rssAfter),
      'CPU ms an attack request': over(({ attackCpuMs, news }) => attackCpuMs / news.sent),
      'attack requests': over(({ news }) => news.sent),
      'answered 2xx and 3xx': answered(200, 400),
      'refused 4xx and 5xx': answered(400, 600),
    },
  }
}

const p50Ratio = `${headings.p50.split(',')[0]}, ×`
const p99Ratio = `${headings.p99.split(',')[0]}, ×`
const failures = 'failures of the others'

/** Also arrivals for which all callers were still waiting. */
const failuresOf = ({ refused, errors, unsent }: Load): number =>
  refused.count + unsent + Object.values(errors).reduce((sum, count) => sum + count, 0)

/** Of all rounds; the rest got no answer before the attack ended. */
function statusesOf(rounds: Measured[]): string {
  const counts = new Map<string, number>()
  for (const { news } of rounds)
    for (const [status, many] of Object.entries({ ...news.answers, ...(news.broken > 0 && { broken: news.broken }) }))
      counts.set(status, (counts.get(status) ?? 0) + many)
  return [...counts].map(([status, many]) => `${status}: ${many}`).join(', ') || 'none'
}

/** For whoever waits for the table: the whole scenario takes many minutes. */
const describe = ({ labels, figures }: Row): string =>
  [...Object.values(labels), ...Object.entries(figures).map(([heading, figure]) => `${heading}: ${writeSpread(figure)}`)].join('; ')

function verdict(rows: Row[]): string[] {
  const unfair = rows.filter(
    ({ figures }) => figures[p50Ratio]!.median > maxRatio || figures[p99Ratio]!.median > maxRatio || figures[failures]!.median > 0,
  )
  const names = unfair.map(({ labels }) => `${labels['attack']} (${labels['store']})`).join('; ')
  return [
    `Goal: p50 and p99 of the others at most ${maxRatio} times those alone, and no failures of theirs. ${unfair.length === 0 ? 'All attacks meet it.' : `Not met: ${names}.`}`,
    'Statuses are those of all rounds; a request that is missing there had no answer when the attack ended. Failures include arrivals for which none of the callers was free.',
    'The CPU of an attack request is what the server used more than alone, until it was quiet again, so it depends little on the load of the machine.',
    'The attacker, the model and the server share the machine, so a part of each ratio is CPU that the attacker itself used.',
  ]
}
