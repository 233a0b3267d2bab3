/**
 * A stream that is followed in its own process, in another one, and behind a connection pooler, where processes cannot notify each other.
 * Prints how late each delta is and what it costs; docs/decisions/0032-follow-and-cancel.md has the figures. Asserts only the text.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Fleet, noFleet } from '../support/fleet.ts'
import { gate } from '../support/model-server.ts'
import type { Part } from '../support/model-server.ts'

const skip = noFleet()
const deltas = 200
const paceMs = 20

/** Milliseconds of CPU that the process has used. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** When each delta arrived. Several in one event arrived together. */
async function arrivals(url: string, apiKey: string): Promise<{ text: string; at: number[] }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } })
  assert.equal(response.status, 200)
  const [at, decoder] = [[] as number[], new TextDecoder()]
  let [rest, text] = ['', '']
  for await (const bytes of response.body!) {
    const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const delta = /^event: response\.output_text\.delta\nid: .*\ndata: (.*)$/.exec(block)
      if (!delta) continue
      text += JSON.parse(delta[1]!).delta
      for (; at.length < text.split('|').length - 1;) at.push(performance.now())
    }
  }
  return { text, at }
}

const quantile = (values: number[], part: number): string =>
  (values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? 0).toFixed(1)

void test('stream.resume: a stream is followed from its own and from another process', { skip }, async (t) => {
  const fleet = await Fleet.begin(t, { count: 2 })
  const sentAt: number[] = []
  fleet.model.when(/./, () => {
    sentAt.length = 0
    const start = performance.now()
    return Array.from({ length: deltas }, (_, n): Part[] => {
      const held = gate()
      setTimeout(
        () => {
          sentAt[n] = performance.now()
          held.open()
        },
        start + (n + 1) * paceMs - performance.now(),
      )
      return [held, `word ${n}|`]
    }).flat()
  })
  for (const [name, place, followers] of [
    ['its own process', 0, 1],
    ['another process', 1, 1],
    ['another process, 20 followers', 1, 20],
  ] as const) {
    const { agentId, apiKey } = fleet.caller
    const before = fleet.servers.map((server) => cpuMs(server!.child.pid!))
    const headers = { prefer: 'respond-async' }
    const message = `hello ${name}`
    const accepted = await fleet.client(0).chat(message, { user: randomUUID(), headers })
    assert.equal(accepted.status, 202, accepted.text)
    const url = `${fleet.client(place).url}/v1/agents/${agentId}/turns/${accepted.json['request_id']}/stream`
    const seen = await Promise.all(Array.from({ length: followers }, () => arrivals(url, apiKey)))
    await pass(300)
    const used = fleet.servers.map((server, at) => cpuMs(server!.child.pid!) - before[at]!)
    const late = seen.flatMap(({ at }) => at.map((time, n) => time - sentAt[n]!))
    const whole = Array.from({ length: deltas }, (_, n) => `word ${n}|`).join('')
    for (const { text } of seen) assert.equal(text, whole)
    t.diagnostic(
      `${name}: a delta arrives p50 ${quantile(late, 0.5)} ms, p99 ${quantile(late, 0.99)} ms after it left the model; ` +
        `CPU ${used[0]} ms in the process that runs the turn, ${used[1]} ms in the other`,
    )
  }
  await fleet.verify()
})
