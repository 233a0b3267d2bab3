/** Two processes on one database: a response is continued, joined and retrieved through the process that does not run it, also when the other dies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pass } from 'node:timers/promises'
import { Fleet, noFleet } from '../support/fleet.ts'
import { gate } from '../support/model-server.ts'
import type { Json } from '../support/test-app.ts'
import { askOpenAi, dataOf, responseBody, sendOpenAi } from '../support/openai-caller.ts'

const skip = noFleet()
const path = '/v1/responses'
const numbers = (events: Json[]): number[] => events.map(({ sequence_number: number }) => number as number)
const deltasOf = (events: Json[]): string => events.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')

/** Reads a stream until it has the text, then leaves. */
async function readUntil(response: Response, wanted: string): Promise<Json[]> {
  let text = ''
  for await (const bytes of response.body!) {
    text += Buffer.from(bytes).toString()
    if (text.includes(wanted)) break
  }
  return dataOf(text.slice(0, text.lastIndexOf('\n\n')))
}
const idOf = (events: Json[]): string => events[0]!['response'].id as string

void test(
  'openai.resume: a response is continued on another process with the same numbers, and a retry joins it there',
  { skip },
  async (t) => {
    const fleet = await Fleet.begin(t, { count: 2 })
    const [one, two] = [gate(), gate()]
    fleet.model.when('weather', ['It rai', 'ns in Os', one, 'lo, and in Berg', two, 'en.'])
    const [here, there] = [fleet.client(0), fleet.client(1)]
    const body = responseBody(here, 'weather', { stream: true })
    const before = await readUntil(await sendOpenAi(here, { path, body, headers: { 'x-stainless-retry-count': '0' } }), '" in"')
    const rest = await sendOpenAi(there, {
      method: 'GET',
      path: `${path}/${idOf(before)}?stream=true&starting_after=${numbers(before).at(-1)}`,
    })
    const joined = await sendOpenAi(there, { path, body, headers: { 'x-stainless-retry-count': '1' } })
    one.open()
    await pass(100)
    two.open()
    const events = [...before, ...dataOf(await rest.text())]
    assert.equal(deltasOf(events), 'It rains in Oslo, and in Bergen.')
    assert.deepEqual(
      numbers(events),
      events.map((_, index) => index),
    )
    const whole = dataOf(await joined.text())
    assert.deepEqual([idOf(whole), numbers(whole), deltasOf(whole)], [idOf(events), numbers(events), deltasOf(events)])
    assert.equal(fleet.model.calls.length, 1)
    await fleet.verify()
  },
)

void test(
  'openai.resume: a follower that has text of a process that dies gets an error, and never a mixture of two texts',
  { skip },
  async (t) => {
    const fleet = await Fleet.begin(t, { count: 2 })
    const held = gate()
    fleet.model.script(['The first text ', held], ['Another text.'])
    const there = fleet.client(1)
    const started = await askOpenAi(fleet.client(0), { path, body: responseBody(there, 'weather', { background: true }) })
    assert.equal(started.json['status'], 'in_progress', started.text)
    const { id } = started.json
    const follower = await sendOpenAi(there, { method: 'GET', path: `${path}/${id}?stream=true` })
    const reader = follower.body!.getReader()
    let text = ''
    for (; !text.includes('" text"');) text += Buffer.from((await reader.read()).value!).toString()
    await fleet.kill(0)
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += Buffer.from(next.value).toString()
    const events = dataOf(text)
    assert.deepEqual(
      [deltasOf(events), events.at(-1)!['type'], events.at(-1)!['code']],
      ['The first text', 'error', 'response_regenerated'],
    )
    const refused = await askOpenAi(there, { method: 'GET', path: `${path}/${id}?stream=true&starting_after=${events.length - 2}` })
    assert.deepEqual([refused.status, refused.json['error'].code], [400, 'response_regenerated'])
    for (let status = 'in_progress'; status === 'in_progress'; await pass(50))
      status = (await askOpenAi(there, { method: 'GET', path: `${path}/${id}` })).json['status']
    const again = dataOf(await (await sendOpenAi(there, { method: 'GET', path: `${path}/${id}?stream=true` })).text())
    assert.deepEqual([deltasOf(again), again.at(-1)!['type']], ['Another text.', 'response.completed'])
    assert.ok(numbers(again)[0]! > events.at(-1)!['sequence_number'])
    held.open()
    await fleet.verify()
  },
)
