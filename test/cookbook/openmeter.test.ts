/** docs/cookbook/openmeter.md: its program between a fake OpenMeter and the real service, with the official SDK. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { layOut, runProgram } from '../support/cookbook-program.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json } from '../support/test-app.ts'

/** The part of OpenMeter that the program calls, as openmeter.io/docs describes usage events: CloudEvents, which are one if ID and source are. */
class FakeOpenMeter {
  readonly events = new Map<string, Json>()
  batches = 0
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  async start(t: TestContext): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    t.after(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Resolves when a batch has been counted, before it is answered. */
  counted = (): Promise<unknown> => once(this.#server, 'counted')

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const refuse = (status: number, detail: string): void =>
      void response
        .writeHead(status, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ status, title: 'Refused', detail }))
    if (request.headers.authorization !== 'Bearer om_1') return refuse(401, 'invalid api key')
    if (request.method !== 'POST' || request.url !== '/api/v1/events') return refuse(404, 'no such route')
    if (request.headers['content-type'] !== 'application/cloudevents-batch+json') return refuse(415, 'not a batch of CloudEvents')
    this.batches++
    for (const event of JSON.parse(body) as Json[]) {
      const { id, source, type, subject, specversion, time } = event
      for (const text of [id, source, type, subject]) if (typeof text !== 'string' || text === '') return refuse(400, 'a field is missing')
      if (specversion !== '1.0' || Number.isNaN(Date.parse(time))) return refuse(400, 'not CloudEvents 1.0')
      this.events.set(`${source} ${id}`, event)
    }
    this.#server.emit('counted')
    // A program that is killed by what listens to the event gets no answer.
    setTimeout(() => response.writeHead(204).end(), 200)
  }
}

void test('cookbook/openmeter: each charge is one event, however often the program runs and whenever it dies', async (t) => {
  await using app = await startTestApp()
  const other = await app.makeCaller()
  await app.chat('hi', { user: 'ann' })
  await app.chat('hi', { user: 'ben' })
  await app.chat('hi', { user: 'ann', caller: other })
  const openmeter = new FakeOpenMeter()
  const { folder, remove } = layOut('openmeter.md', ['@openmeter/sdk'])
  t.after(remove)
  const environment = {
    ADMIN_URL: app.adminUrl,
    TURNKEEP_ADMIN_TOKEN: adminToken,
    OPENMETER_URL: await openmeter.start(t),
    OPENMETER_API_KEY: 'om_1',
  }
  const run = (killWhen?: Promise<unknown>) => runProgram(folder, 'report.mts', environment, killWhen)
  const assertReported = async (): Promise<void> => {
    const charges = (await app.made('GET', '/ledger?limit=100')).data.filter(({ kind }: Json) => kind === 'charge')
    const expected = charges.map((entry: Json) => [
      entry.id,
      entry.owner_id,
      entry.created_at,
      String(BigInt(entry.amount_usd.replace(/^-/, '').replace('.', ''))),
      entry.agent_id,
      entry.external_user_id,
    ])
    const reported = [...openmeter.events.values()].map(({ id, subject, time, data }) => [
      id,
      subject,
      time,
      data.units,
      data.agent_id,
      data.external_user_id,
    ])
    assert.deepEqual(reported.toSorted(), expected.toSorted())
  }

  assert.equal((await run(openmeter.counted())).code, null)
  await assertReported()
  const second = await run()
  assert.deepEqual([second.code, second.said], [0, 'Reported 3 charges.\n'], 'they were not noted, and are sent again')
  await assertReported()
  const { batches } = openmeter
  assert.equal((await run()).said, 'Reported 0 charges.\n')
  assert.equal(openmeter.batches, batches)
  await app.chat('more', { user: 'ann' })
  assert.equal((await run()).said, 'Reported 1 charges.\n')
  await assertReported()

  const refused = await runProgram(folder, 'report.mts', { ...environment, OPENMETER_API_KEY: 'om_2' })
  assert.equal(refused.code, 0, 'nothing is left to report')
  await app.chat('more', { user: 'ben' })
  const failed = await runProgram(folder, 'report.mts', { ...environment, OPENMETER_API_KEY: 'om_2' })
  assert.equal(failed.code, 1)
  assert.match(failed.said, /invalid api key/)
  assert.equal((await run()).said, 'Reported 1 charges.\n')
  await assertReported()
})
