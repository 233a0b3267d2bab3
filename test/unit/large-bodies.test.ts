/** The queue of large bodies, without a server: which one is parsed next, and what runs between two of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { parseJson } from '../../src/http/edge/request-body.ts'

const large = Buffer.from(JSON.stringify({ message: 'm'.repeat(100_000) }))

const requestOf = (sender: { ownerId: string } | { operatorId: string }, socket = { destroyed: false }): FastifyRequest =>
  ({
    raw: { headers: { 'content-type': 'application/json' }, rawHeaders: ['Content-Type', 'application/json'], socket },
    routeOptions: { config: {} },
    ...('ownerId' in sender ? { caller: { apiKey: sender } } : { actor: { id: sender.operatorId } }),
  }) as unknown as FastifyRequest

void test('overload.bodies: owners and operators take turns, whoever has sent more', async () => {
  const order: string[] = []
  const send = async (name: string, sender: { ownerId: string } | { operatorId: string }): Promise<void> => {
    await parseJson(requestOf(sender), large)
    order.push(name)
  }
  const many = Array.from({ length: 20 }, () => send('busy', { ownerId: 'busy' }))
  await Promise.all([...many, send('other', { ownerId: 'other' }), send('operator', { operatorId: 'opr_1' })])
  assert.deepEqual(order.slice(0, 4), ['busy', 'other', 'operator', 'busy'])
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
  const sent = Array.from({ length: 10 }, () => parseJson(requestOf({ ownerId: 'busy' }), large).then(() => void parsed++))
  await parseJson(requestOf({ ownerId: 'busy' }), Buffer.from('{}'))
  assert.equal(parsed, 0)
  await Promise.all(sent)
  isOver = true
  assert.ok(turns >= 9, `${turns} turns of the event loop`)
})

void test('overload.bodies: the body of a caller that has left is not parsed, and an invalid one does not stop the next', async () => {
  const invalid = Buffer.from('x'.repeat(100_000))
  const outcomes = await Promise.allSettled([
    parseJson(requestOf({ ownerId: 'one' }, { destroyed: true }), large),
    parseJson(requestOf({ ownerId: 'one' }), invalid),
    parseJson(requestOf({ ownerId: 'one' }), large),
  ])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'parsed')),
    ['bad_request', 'validation_error', 'parsed'],
  )
})
