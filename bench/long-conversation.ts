/**
 * `node bench/long-conversation.ts`: what a turn costs late in a long conversation against early in it, through the whole server on each store.
 * The texts fill the history window by the tenth turn, so that both prompts hold as much. Conversations of all ages are asked in turns within one
 * run: medians of milliseconds a turn, and CPU of the server's process. Prints a Markdown table.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startModelServer } from '../test/support/model-server.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { startServer } from '../test/support/server-process.ts'

const late = 10_000
const measured = 200
const rounds = 3
// Half the bytes count: an exchange of 900 tokens, so that nine of them fill a window of 8,000.
const text = 'All work and no play. '.repeat(41).slice(0, 900)
const adminToken = 'bench-admin-token-0123456789'
const ticksPerSecond = 100

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Milliseconds of CPU that the process has used, its threads included. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond
}

async function measure(store: string, env: Record<string, string>): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const model = await startModelServer()
  stack.defer(() => model.close())
  model.when(/./, text)
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true }))
  const server = await startServer({
    PORT: '0',
    TURNKEEP_DATA_DIR: folder,
    TURNKEEP_ADMIN_TOKEN: adminToken,
    TURNKEEP_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    TURNKEEP_DEMO: 'off',
    ...env,
  })
  stack.defer(async () => void (await server.stop()))

  const post = async (path: string, token: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, string>> => {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as Record<string, string>
    if (!response.ok) throw new Error(JSON.stringify(answer))
    return answer
  }
  const admin = (path: string, body: object) => post(`/admin/v1${path}`, adminToken, body)
  const owner = await admin('/owners', { name: 'bench', balance_usd: '1000000' })
  await admin('/providers', { name: 'bench', kind: 'openai-compatible', base_url: model.baseUrl, api_key: 'none' })
  const price = { prompt_usd_per_million: '1', completion_usd_per_million: '1' }
  const agent = await admin('/agents', { owner_id: owner['id'], name: 'bench', system_prompt: 'Talk.', model: 'bench/any', price })
  const { api_key: key } = await admin(`/agents/${agent['id']}/keys`, {
    permission: 'full',
    rate_limit: { limit: 1_000_000, window_seconds: 3600 },
  })

  const turn = async (user: string): Promise<number> => {
    const startedAt = performance.now()
    const headers = { 'idempotency-key': randomUUID() }
    await post(`/v1/agents/${agent['id']}/chat`, key!, { external_user_id: user, message: text }, headers)
    // What the mock remembers of each call would fill this process.
    model.calls.length = 0
    return performance.now() - startedAt
  }
  for (let count = 0; count < late; count++) await turn('long')
  let young = 0
  const times: Record<'young' | 'long', number[]> = { young: [], long: [] }
  const cpu: Record<'young' | 'long', number[]> = { young: [], long: [] }
  for (let round = 0; round < rounds; round++) {
    for (const age of ['young', 'long'] as const) {
      // A young one is at its tenth turn: ten users are brought there, and asked in turns so that they stay young.
      const users = age === 'long' ? ['long'] : Array.from({ length: measured / 4 }, () => `young ${young++}`)
      if (age === 'young') for (const user of users) for (let count = 0; count < 9; count++) await turn(user)
      const before = cpuMs(server.child.pid!)
      for (let count = 0; count < measured; count++) times[age].push(await turn(users[count % users.length]!))
      cpu[age].push((cpuMs(server.child.pid!) - before) / measured)
    }
  }
  const [first, last] = [median(times.young), median(times.long)]
  const ratio = (last / first).toFixed(2)
  const cpuRatio = (median(cpu.long) / median(cpu.young)).toFixed(2)
  console.log(
    `| ${store} | ${first.toFixed(2)} | ${last.toFixed(2)} | ${ratio} | ${median(cpu.young).toFixed(2)} | ${median(cpu.long).toFixed(2)} | ${cpuRatio} |`,
  )
}

console.log(
  `| store | turns 10–13, ms | turns over ${late}, ms | ratio | CPU, ms a turn | CPU late, ms | ratio |\n|---|---|---|---|---|---|---|`,
)
await measure('SQLite', {})
const postgres = await startPostgres({ durable: true })
try {
  await measure('PostgreSQL', { DATABASE_URL: postgres.url })
} finally {
  await postgres.stop('fast')
}
