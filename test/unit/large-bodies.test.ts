/** The queue of large bodies, without a server: which one is parsed next, and what runs between two of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { readJson } from '../../src/http/edge/request-body.ts'

const large = Buffer.from(JSON.stringify({ message: 'm'.repeat(100_000) }))

type Sender = { ownerId: string } | { operatorId: string }

function readBody(sender: Sender, bytes: Buffer, socket = { destroyed: false }): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const raw = Object.assign(Readable.from([bytes], { objectMode: false }), {
    headers,
    rawHeaders: Object.entries(headers).flat(),
    socket,
    complete: true,
  })
  const request = {
    raw,
    routeOptions: { config: {}, bodyLimit: 1_048_576 },
    ...('ownerId' in sender ? { caller: { apiKey: sender } } : { principalName: sender.operatorId }),
  }
  return readJson(request as unknown as FastifyRequest, { raw: new EventEmitter() } as unknown as FastifyReply)
}

void test('overload.bodies: owners and operators take turns, whoever has sent more', async () => {
  const order: string[] = []
  const send = async (name: string, sender: Sender): Promise<void> => {
    await readBody(sender, large)
    order.push(name)
  }
  const many = Array.from({ length: 20 }, () => send('busy', { ownerId: 'busy' }))
  await Promise.all([...many, send('other', { ownerId: 'other' }), send('operator', { operatorId: 'opr_1' })])
  // At most two of the first sender are parsed before the others have arrived.
  assert.ok(order.indexOf('other') <= 3 && order.indexOf('operator') <= 3, order.join(' '))
  assert.equal(order.length, 22)
})

void test('overload.bodies: the event loop runs other work between two large bodies, and a small body does not wait', async () => {
  let parsed = 0
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const sent = Array.from({ length: 10 }, () => readBody({ ownerId: 'busy' }, large).then(() => void parsed++))
  await readBody({ ownerId: 'busy' }, Buffer.from('{}'))
  assert.equal(parsed, 0)
  await Promise.all(sent)
  isOver = true
  assert.ok(turns >= 9, `${turns} turns of the event loop`)
})

void test('overload.bodies: the body of a caller that has left is not parsed, and an invalid one does not stop the next', async () => {
  const invalid = Buffer.from('x'.repeat(100_000))
  const outcomes = await Promise.allSettled([
    readBody({ ownerId: 'one' }, large, { destroyed: true }),
    readBody({ ownerId: 'one' }, invalid),
    readBody({ ownerId: 'one' }, large),
  ])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'parsed')),
    ['bad_request', 'validation_error', 'parsed'],
  )
})
