/**
 * A short history in which every guarantee holds, for testing the checker. It contains each kind of event, and each refusal with its
 * reason.
 */
import type { HistoryEvent } from './history.ts'
import { createEventBuilder } from './event-builder.ts'
import type { Said } from './event-builder.ts'
import { writeAccess } from './sound-access.ts'

export function soundHistory(): HistoryEvent[] {
  const {
    events,
    tenants,
    agent,
    now,
    pass,
    write,
    say,
    call,
    answer,
    refuse,
    model,
    modelEnds,
    settle,
    reply,
    simple,
    change,
    ...builder
  } = createEventBuilder()
  const {
    lastLook,
    nextRequestId,
    clearWindows,
    forget,
    stream,
    streamOf,
    created,
    errorEvent,
    cancel,
    poll,
    giveFeedback,
    accept,
    reportTurn,
  } = builder

  write({ kind: 'begin', at: 0, seed: 1, options: {}, schedule: [] })
  write({ kind: 'process', at: now(), supervised: 0, what: 'started', why: 'first' })
  write({ kind: 'setup', at: now(), tenants })

  const all: Said[] = []
  const said = (...given: Parameters<typeof say>): Said => {
    const one = say(...given)
    all.push(one)
    return one
  }

  simple(said('first', 'main', 'ann', 'quick 2'))
  simple(said('second', 'main', 'ann', 'quick 2'), 'stream')
  const [first] = all as [Said]
  reply(first, call(first, { transport: 'stream' }), 'stream', 0)
  refuse(call({ ...first, message: say('other', 'main', 'ann', 'quick 1').message }), 'idempotency_conflict')
  refuse(call(say('nonsense', 'main', 'ann', 'quick 1'), { flaw: 'unknown field' }), 'validation_error')

  // One runs, and two are too early.
  const [slow, early] = [said('slow', 'main', 'ann', 'slow 3 20'), said('early', 'main', 'ann', 'quick 1')]
  const runs = call(slow)
  const serial = model(slow, 'text')
  refuse(call(early), 'conversation_busy')
  refuse(call(slow), 'idempotency_in_progress')
  modelEnds(serial)
  settle(slow, serial)
  reply(slow, runs)
  simple(early)

  const booked = said('booked', 'main', 'bob', 'tools book:quick')
  const bookedBy = call(booked, { transport: 'stream' })
  modelEnds(model(booked, 'tools', 1))
  const toolKey = `${nextRequestId()}:1:1`
  write({ kind: 'tool', at: now(), idempotencyKey: toolKey, name: 'book', arguments: '{}', sideEffects: true, message: 'booked' })
  const last = model(booked, 'text')
  modelEnds(last)
  settle(booked, last, 2)
  reply(booked, bookedBy, 'stream')

  // Its caller leaves after the first delta, continues elsewhere and gets the rest. After the last event there is nothing left.
  const resumed = said('resumed', 'main', 'kim', 'quick 2')
  const resumedId = nextRequestId()
  const firstPart = call(resumed, { transport: 'stream', leaves: 2 })
  const resumedModel = model(resumed, 'text')
  modelEnds(resumedModel)
  settle(resumed, resumedModel)
  stream(firstPart, resumedId, streamOf(resumed).slice(0, 2), 'left')
  const resumes = { requestId: resumedId, call: firstPart, after: '1-x' }
  const rest = call(resumed, { transport: 'resume', supervised: 1, resumes })
  stream(rest, resumedId, streamOf(resumed).slice(2))
  const nothingLeft = call(resumed, { transport: 'resume', resumes: { requestId: resumedId, call: rest, after: 'end' } })
  answer(nothingLeft, { status: 204, headers: { 'x-request-id': '00000000-0000-4000-8000-00000000bbbb' }, body: '' })

  // Cancelled before its first text, after it, and too late.
  const cancelledId = '00000000-0000-4000-8000-00000000cccc'
  const cancelled = say('cancelled', 'main', 'lee', 'silent 3000')
  const cancelledBy = call(cancelled, { transport: 'stream' })
  const unfinished = model(cancelled, 'fault')
  const asked = cancel(cancelled, cancelledId)
  modelEnds(unfinished, 'aborted')
  stream(cancelledBy, cancelledId, [created(cancelledId), errorEvent('turn_cancelled', cancelledId)])
  reportTurn(asked, cancelled, cancelledId, { status: 'cancelled', cancelRequested: true })
  refuse(call(cancelled), 'turn_cancelled', 'main', cancelledId)
  const partial = said('partial', 'main', 'max', 'slow 9 100')
  const partialId = nextRequestId()
  const partialBy = call(partial, { transport: 'stream' })
  const partialModel = model(partial, 'text')
  const askedAfterText = cancel(partial, partialId)
  modelEnds(partialModel, 'aborted')
  settle(partial, partialModel, 1, true)
  reply(partial, partialBy, 'stream')
  reportTurn(askedAfterText, partial, partialId, { status: 'completed', cancelRequested: true })
  reportTurn(cancel(resumed, resumedId), resumed, resumedId, { status: 'completed', cancelRequested: false })

  // Callers that do not wait: one polls, and one follows the stream. Both give feedback, once without a response.
  const polled = said('polled', 'main', 'nia', 'quick 2')
  const polledId = nextRequestId()
  accept(call(polled, { prefersAsync: true }), polled, polledId)
  const polledModel = model(polled, 'text')
  reportTurn(poll(polled, polledId), polled, polledId, { status: 'running', cancelRequested: false })
  refuse(call(polled), 'idempotency_in_progress', 'main', polledId, `/v1/agents/agt_amber/turns/${polledId}`)
  modelEnds(polledModel)
  settle(polled, polledModel)
  reportTurn(poll(polled, polledId), polled, polledId, { status: 'completed', cancelRequested: false })
  reply(polled, call(polled))
  reply(polled, call(polled, { prefersAsync: true }))
  giveFeedback(polled, 'up')
  giveFeedback(polled, 'down')
  const followed = said('followed', 'main', 'oli', 'quick 2')
  const followedId = nextRequestId()
  const followedBy = call(followed, { prefersAsync: true })
  accept(followedBy, followed, followedId)
  const followedModel = model(followed, 'text')
  modelEnds(followedModel)
  settle(followed, followedModel)
  stream(
    call(followed, { transport: 'resume', resumes: { requestId: followedId, call: followedBy, after: null } }),
    followedId,
    streamOf(followed),
  )
  giveFeedback(followed, 'up')
  giveFeedback(followed, 'down', false)

  const failed = said('failed', 'main', 'bob', 'fails 1 503')
  const failedBy = call(failed)
  modelEnds(model(failed, 'fault'), 'fault')
  const again = model(failed, 'text')
  modelEnds(again)
  settle(failed, again)
  reply(failed, failedBy)

  const poor = said('poor', 'thin', 'cid', 'quick 1')
  refuse(call(poor), 'insufficient_balance')
  change({ what: 'top-up', owner: 'own_birch', amountUsd: '0.01', idempotencyKey: 'top-up 1' })
  change({
    what: 'balance',
    owner: 'own_birch',
    balanceUsd: '0.01100000',
    heldUsd: '0.00050000',
    unpaidUsd: '0.00030000',
    availableUsd: '0.01020000',
  })
  simple(poor)
  // An answer without text takes a second step. The hold for it was not covered, so this is refused after a model call.
  const scant = said('scant', 'thin', 'cia', 'empty 2')
  const scantBy = call(scant)
  modelEnds(model(scant, 'text'))
  refuse(scantBy, 'insufficient_balance')
  simple(scant)

  // The agent's limit is less than two holds.
  const [within, beyond] = [said('within', 'capped', 'pia', 'quick 1'), said('beyond', 'capped', 'quinn', 'quick 1')]
  simple(within)
  refuse(call(beyond), 'spend_limit_exceeded')
  change({ what: 'limit', agent: 'agt_capped', usd: '0.008' })
  simple(beyond)
  const spentBefore = { agent: 'agt_capped', limitUsd: '0.00800000', spentUsd: '0.00012100', unpaidUsd: '0.00000000' }
  change({ what: 'spending', ...spentBefore, heldUsd: '0.00700000' })

  for (const name of ['one', 'two', 'three']) simple(said(name, 'limited', 'dan', 'quick 1'))
  refuse(call(say('four', 'limited', 'dan', 'quick 1')), 'rate_limit_exceeded', 'limited')

  const gone = say('gone', 'main', 'eve', 'quick 1')
  simple(gone)
  change({ what: 'erase', key: 'main', user: 'eve' })
  forget('main eve')
  refuse(call(gone), 'not_found')

  const stale = say('stale', 'revoked', 'fay', 'quick 1')
  simple(stale)
  change({ what: 'revoke', key: 'revoked' })
  pass(2000)
  refuse(call(stale), 'invalid_api_key')

  change({ what: 'switch', agent: 'agt_off', enabled: false })
  refuse(call(say('off', 'off', 'gil', 'quick 1')), 'agent_disabled')
  change({ what: 'switch', agent: 'agt_off', enabled: true })

  // Two concurrent attempts while the agent is disabled and a process freezes and dies: one is refused and the other is cut off, so the
  // refusal is the outcome.
  // An attempt whose caller has disconnected is read late, after another one was refused. It runs, is charged, and no caller receives its
  // reply.
  pass(10_000)
  write({ kind: 'process', at: now(), supervised: 0, what: 'stopped', signal: 'SIGSTOP', why: 'stop' })
  const [beside, late] = [say('beside', 'off', 'gil', 'quick 1'), say('late', 'off', 'ida', 'quick 1')]
  const besides = call(beside)
  answer(call(late), { end: 'left' })
  change({ what: 'switch', agent: 'agt_off', enabled: false })
  refuse(call(beside, { supervised: 1 }), 'agent_disabled')
  refuse(call(late, { supervised: 1 }), 'agent_disabled')
  change({ what: 'switch', agent: 'agt_off', enabled: true })
  write({ kind: 'process', at: now(), supervised: 0, what: 'continued', signal: 'SIGCONT', why: 'stop' })
  const unheard = model(late, 'text')
  modelEnds(unheard)
  settle(late, unheard)
  write({ kind: 'process', at: now(), supervised: 0, what: 'killed', signal: 'SIGKILL', why: 'kill' })
  answer(besides, { end: 'broken', error: 'ECONNRESET' })
  write({ kind: 'process', at: now(), supervised: 0, what: 'started', why: 'again' })

  // One owner sends the worst that its limits let through.
  const unfair = { kind: 'unfair' as const, supervised: 0, end: 'whole' as const }
  pass(10_000)
  write({ ...unfair, at: now() + 5, startedAt: now(), what: 'chat of many names', status: 422 })
  write({ ...unfair, at: now() + 5, startedAt: now(), what: 'chat of many names', status: 429 })
  write({ ...unfair, at: now() + 5, startedAt: now(), what: 'unfinished body', status: null, end: 'left' })
  write({ ...unfair, at: now() + 5, startedAt: now(), what: 'follow', status: 503 })

  change({ what: 'edit', agent: 'agt_main', version: 2 })
  agent.version = 2
  simple(said('edited', 'main', 'ann', 'quick 1'))

  // A process dies during a turn, and Redis is unavailable for a moment. Neither affects what was there before.
  pass(10_000)
  const orphan = said('orphan', 'main', 'hal', 'quick 1')
  const orphaned = call(orphan)
  const lost = model(orphan, 'text')
  write({ kind: 'process', at: now(), supervised: 0, what: 'killed', signal: 'SIGKILL', why: 'kill' })
  answer(orphaned, { end: 'broken', error: 'ECONNRESET' })
  modelEnds(lost, 'aborted')
  write({ kind: 'process', at: now(), supervised: 0, what: 'started', why: 'again' })
  refuse(call(orphan), 'idempotency_in_progress')
  const found = model(orphan, 'text')
  modelEnds(found)
  settle(orphan, found)
  reply(orphan, call(orphan))
  const fault = { kind: 'fault' as const, id: 1, name: 'redis-kill', faults: ['fault.redis-down'], detail: {} }
  const waiting = said('waiting', 'main', 'hal', 'quick 1')
  write({ ...fault, at: now(), phase: 'begin' })
  write({ ...fault, at: now(), phase: 'applied' })
  refuse(call(waiting), 'api_rate_limit_unavailable')
  write({ ...fault, at: now(), phase: 'healing' })
  write({ ...fault, at: now(), phase: 'end' })
  clearWindows()
  simple(waiting)
  writeAccess({ now, write })
  pass(20_000)

  for (const one of all) {
    if (one.key !== 'limited') reply(one, call(one, { final: true }))
  }
  refuse(call(cancelled, { final: true }), 'turn_cancelled', 'main', cancelledId)
  lastLook(orphan, [cancelledId])
  change({ what: 'spending', ...spentBefore, heldUsd: '0.00000000' })
  write({ kind: 'verify', at: now(), broken: [] })
  write({ kind: 'end', at: now() })
  return events
}
