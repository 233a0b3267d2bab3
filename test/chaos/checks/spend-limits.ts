/**
 * Spend limits (`billing.spend-limit`): never more spent, held and unpaid than the limit, and no refusal while enough is free. Pure. What turns
 * hold is not in a history, so it is bounded from above: every byte as a token, and every turn that may be running.
 */
import type { Tenant } from '../history.ts'
import { takesSeveralSteps } from '../messages.ts'
import { unitsOf } from './price.ts'
import type { Reading, Request, Try, Violation } from './reading.ts'
import { possiblyRunning } from './states.ts'

type Agent = Tenant['agents'][0] & { capped: NonNullable<Tenant['agents'][0]['capped']> }

export function checkSpendLimits(reading: Reading): Violation[] {
  const agents = reading.tenants.flatMap((tenant) =>
    tenant.agents.flatMap((agent) => (agent.capped ? [{ tenant, agent: { ...agent, capped: agent.capped } }] : [])),
  )
  return agents.flatMap(({ tenant, agent }) => {
    const requests = reading.requests.filter(({ key }) => key.agentId === agent.id)
    return [...windows(reading, tenant, agent), ...endUsers(reading, agent, requests), ...refusals(reading, agent, requests)]
  })
}

/** A limit is only raised, so what it was at the start of a request is a lower bound of what it was later. */
function limitAt({ admin }: Reading, agent: Agent, at: number): bigint {
  const raised = admin.findLast((change) => change.what === 'limit' && change.agent === agent.id && change.at <= at)
  return unitsOf(raised?.what === 'limit' ? raised.usd : agent.capped.agentUsd)
}

/** What the operator read: never above the limit. At the end nothing is held, and what is spent is what the ledger charged. */
function* windows({ admin, events }: Reading, tenant: Tenant, agent: Agent): Generator<Violation> {
  const reads = admin.filter((change) => change.what === 'spending' && change.agent === agent.id)
  for (const read of reads) {
    if (read.what !== 'spending') continue
    const [limit, spent, held, unpaid] = [read.limitUsd, read.spentUsd, read.heldUsd, read.unpaidUsd].map(unitsOf) as [
      bigint,
      bigint,
      bigint,
      bigint,
    ]
    const wrong = (what: string): Violation => ({ check: 'spend-limit', what, events: [read.index] })
    if (spent + held + unpaid > limit)
      yield wrong(`${read.spentUsd} spent, ${read.heldUsd} held and ${read.unpaidUsd} unpaid of ${read.limitUsd}`)
    const owner = events.findLast((event) => event.kind === 'stored' && event.what === 'owner' && event.owner === tenant.owner.id)
    if (owner?.kind !== 'stored' || owner.what !== 'owner' || read.at < owner.at) continue
    if (held !== 0n) yield wrong(`a window holds ${read.heldUsd} when nothing runs`)
    const charged = owner.ledger.filter(({ kind }) => kind === 'charge').reduce((sum, { amountUsd }) => sum - unitsOf(amountUsd), 0n)
    if (spent !== charged) yield wrong(`${read.spentUsd} spent in a window, and ${charged} charged`)
  }
}

/** What the replies of an end user cost together is never above the end user's limit. */
function* endUsers(reading: Reading, { capped }: Agent, requests: Request[]): Generator<Violation> {
  for (const own of Map.groupBy(requests, ({ user }) => user).values()) {
    if (reading.erasedBy(own[0]!, Infinity)) continue
    const spent = own.reduce((sum, { reply }) => sum + (reply ? unitsOf(reply.said.usage.charged_usd) : 0n), 0n)
    if (spent > unitsOf(capped.endUserUsd))
      yield {
        check: 'spend-limit',
        what: `"${own[0]!.user}" was charged ${spent} of ${capped.endUserUsd}`,
        events: own.flatMap(({ tries }) => tries.find(({ reply }) => reply)?.events ?? []),
      }
  }
}

/** A refusal needs a limit that may have been used up. */
function* refusals(reading: Reading, agent: Agent, requests: Request[]): Generator<Violation> {
  for (const request of requests) {
    for (const one of request.tries) {
      if (one.code !== 'spend_limit_exceeded') continue
      const hold = holdOf(agent, request, requests)
      const ofUser = requests.filter(({ user }) => user === request.user)
      const free = limitAt(reading, agent, one.call.at) - usedAtMost(reading, agent, requests, request, one)
      const freeOfUser = unitsOf(agent.capped.endUserUsd) - usedAtMost(reading, agent, ofUser, request, one)
      // Of a turn that had started, the next step may need several times what one step holds.
      if (takesSeveralSteps(request.message) || free < hold || freeOfUser < hold) continue
      yield {
        check: 'spend-limit',
        what: `"${request.message}" was refused with ${free} free, and holds at most ${hold}`,
        events: one.events,
      }
    }
  }
}

/** What is spent, held and unpaid by these requests, at most, when one of them was refused. */
function usedAtMost(reading: Reading, agent: Agent, all: Request[], refused: Request, one: Try): bigint {
  const [from, to] = [one.call.at, one.answer!.at]
  return all
    .filter(({ openedAt }) => openedAt <= to)
    .reduce((sum, request) => {
      const hold = holdOf(agent, request, all)
      const runs = possiblyRunning(reading, request).filter((running) => running.one !== one)
      const mayRun = request !== refused && runs.some(({ span }) => span.from <= to && span.to >= from)
      const isUnheard = !request.reply && runs.some(({ one: { code } }) => code === undefined)
      // The end of a turn with several steps may leave something unpaid in each run.
      const unpaid = takesSeveralSteps(request.message) ? hold * BigInt(runs.length) : 0n
      const spent = request.reply ? unitsOf(request.reply.said.usage.charged_usd) : 0n
      return sum + spent + unpaid + (mayRun || isUnheard ? hold : 0n)
    }, 0n)
}

// Passages, the system prompt and what surrounds them.
const fixedTokens = 2_500
// The longest reply of a run.
const maxReplyBytes = 12_000

/** Every byte of the conversation as a token. */
function holdOf({ capped, promptUsdPerMillion, completionUsdPerMillion }: Agent, { user }: Request, all: Request[]): bigint {
  const bytes = all
    .filter((request) => request.user === user)
    .reduce((sum, { message, reply }) => {
      return sum + Buffer.byteLength(message) + (reply ? Buffer.byteLength(reply.said.message.content) : maxReplyBytes)
    }, 0)
  const exact =
    BigInt(fixedTokens + bytes) * unitsOf(promptUsdPerMillion) + BigInt(capped.maxOutputTokens) * unitsOf(completionUsdPerMillion)
  return exact / 1_000_000n + 1n
}
