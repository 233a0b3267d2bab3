/**
 * Thousands of streams whose models send nothing for a long time. Each is kept open by its heartbeat, others are answered meanwhile, and
 * the memory of the process stays bounded. `STREAMS=9900` is the most that 20,000 file descriptors on each side allow.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { ProcessRuns } from '../support/process-runs.ts'
import { gate } from '../support/model-server.ts'
import { RawSocket } from '../support/raw-socket.ts'

const streams = Number(process.env['STREAMS'] ?? 1200)
const maxBytes = 2 ** 30
const others = 40
// The number of callers that connect at the same time.
const atOnce = 200

/** The current and the peak memory of the process in bytes, as reported by Linux. */
function memoryOf(pid: number): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024
  return { now: kilobytes('VmRSS'), most: kilobytes('VmHWM') }
}

void test(
  `fault.idle-streams stream.established: ${streams} idle streams: heartbeats reach all, others are answered, memory stays below 1 GiB, all complete`,
  { skip: process.platform !== 'linux' && '/proc is of Linux' },
  async (t) => {
    const processRuns = await ProcessRuns.begin(t, '', { env: { TURNKEEP_MAX_TURNS: String(2 * streams) } })
    const { client, model } = processRuns
    client.caller = await client.makeCaller({ balanceUsd: '1000' })
    // The model sends reasoning now and then, which is not in the stream: a model that sends nothing at all is aborted after 30 s.
    const thoughts = Array.from({ length: 12 }, () => gate())
    model.when('idle', ['one ', ...thoughts.flatMap((thought) => [thought, { reasoning: 'hm' }]), 'two'])
    let thought = 0
    const thinking = setInterval(() => thoughts[thought++]?.open(), 10_000)
    t.after(() => clearInterval(thinking))
    const { pid } = processRuns.server!.child
    const [agentId, apiKey] = [client.caller.agentId, client.caller.apiKey]

    /** Returns the response times of consecutive callers. */
    async function serve(name: string): Promise<number[]> {
      const times: number[] = []
      for (let count = 0; count < others; count++) {
        const from = performance.now()
        assert.equal((await client.chat(`other ${name} ${count}`, { user: `other ${count}` })).status, 200)
        times.push(performance.now() - from)
      }
      return times.toSorted((a, b) => a - b)
    }

    const alone = await serve('alone')
    const before = memoryOf(pid!).now
    const raws: RawSocket[] = []
    t.after(() => raws.forEach(({ socket }) => socket.destroy()))
    const port = Number(new URL(processRuns.server!.url).port)
    while (raws.length < streams) {
      const some = Array.from({ length: Math.min(atOnce, streams - raws.length) }, async (_, n) => {
        const body = JSON.stringify({ external_user_id: `idle ${raws.length + n}`, message: 'idle' })
        const raw = await RawSocket.open(port)
        raw.write(
          `POST /v1/agents/${agentId}/chat/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${apiKey}\r\n` +
            `Idempotency-Key: ${randomUUID()}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
        await raw.until('response.created')
        return raw
      })
      raws.push(...(await Promise.all(some)))
    }
    await Promise.all(raws.map((raw) => raw.until('"one "')))

    const beside = await serve('beside')
    // No stream waits longer than two heartbeats, plus a margin for a busy machine.
    let quiet = raws
    const beatless = (): boolean => {
      quiet = quiet.filter(({ received }) => !/\n:[^\n]*\n\n/.test(received))
      return quiet.length > 0
    }
    await until('a heartbeat on each stream', () => !beatless(), 120_000)
    const { now, most } = memoryOf(pid!)
    assert.ok(most <= maxBytes, `${most} bytes of memory`)
    const at = (share: number, times: number[]): number => Math.round(times[Math.floor(times.length * share)]! * 10) / 10
    t.diagnostic(
      `${streams} streams: ${Math.round(now / 2 ** 20)} MiB now, ${Math.round(most / 2 ** 20)} MiB at most, ${Math.round((now - before) / streams / 1024)} KiB ` +
        `each; others p50 ${at(0.5, alone)} → ${at(0.5, beside)} ms, p99 ${at(0.99, alone)} → ${at(0.99, beside)} ms`,
    )

    for (const one of thoughts) one.open()
    await Promise.all(raws.map((raw) => raw.rest()))
    for (const raw of raws) assert.match(raw.answers[0]!.body, /\nevent: response\.completed\nid: end\ndata: .*"content":"one two".*\n\n$/)
    assert.equal(model.calls.length, streams + 2 * others)
    assert.equal((await client.owner()).held_usd, '0.00000000')
    await processRuns.verify()
  },
)
