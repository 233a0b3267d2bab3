/**
 * Every amount compared with the reported usage, the prices, and the ledger: charged once, never more than it costs, never below zero
 * (`billing.once`). Pure.
 */
import type { StoredOwner, Tenant } from '../history.ts'
import { maxCallsPerAttempt, reasoningFor } from '../messages.ts'
import { costOf, toolCallsOf, unitsOf } from './price.ts'
import type { Reading, Request, Violation } from './reading.ts'

export function checkMoney(reading: Reading): Violation[] {
  const stored = reading.events.flatMap((event, index) => (event.kind === 'stored' && event.what === 'owner' ? [{ ...event, index }] : []))
  return [...reads(reading), ...stored.flatMap((owner) => [...ledger(owner, reading), ...charges(owner, reading)]), ...usage(reading)]
}

type Owner = StoredOwner & { index: number }

const units = (usd: string): bigint => BigInt(usd.replace('.', ''))
/** No balance was ever below zero, and its parts add up. */
function* reads({ admin }: Reading): Generator<Violation> {
  for (const read of admin) {
    if (read.what !== 'balance') continue
    const [balance, held, unpaid, available] = [
      units(read.balanceUsd),
      units(read.heldUsd),
      units(read.unpaidUsd),
      units(read.availableUsd),
    ]
    const left = balance - held - unpaid
    if (balance < 0n || held < 0n || unpaid < 0n || available !== (left > 0n ? left : 0n))
      yield {
        check: 'money',
        what: `a balance of ${read.balanceUsd}, ${read.heldUsd} held, ${read.unpaidUsd} unpaid, ${read.availableUsd} available`,
        events: [read.index],
      }
  }
}

/** The ledger adds up to the balance, nothing is held at the end, and each credit was made once. */
function* ledger(owner: Owner, { tenants, admin }: Reading): Generator<Violation> {
  const wrong = (what: string): Violation => ({ check: 'money', what, events: [owner.index] })
  const sum = owner.ledger.reduce((total, { amountUsd }) => total + units(amountUsd), 0n)
  if (sum !== units(owner.balanceUsd)) yield wrong(`a ledger of ${sum} and a balance of ${owner.balanceUsd}`)
  if (units(owner.balanceUsd) < 0n) yield wrong(`a balance of ${owner.balanceUsd}`)
  if (units(owner.heldUsd) !== 0n) yield wrong(`${owner.heldUsd} is held when nothing runs`)
  const tenant = tenants.find((one) => one.owner.id === owner.owner)
  const topUps = admin.filter((change) => change.what === 'top-up' && change.owner === owner.owner)
  const paid = topUps.reduce(
    (total, change) => total + (change.what === 'top-up' ? unitsOf(change.amountUsd) : 0n),
    unitsOf(tenant?.owner.balanceUsd ?? '0'),
  )
  const credited = owner.ledger.filter(({ kind }) => kind !== 'charge').reduce((total, { amountUsd }) => total + units(amountUsd), 0n)
  if (credited !== paid)
    yield { ...wrong(`${credited} credited, ${paid} paid in`), events: [owner.index, ...topUps.map(({ index }) => index)] }
}

/** One charge for each reply with its amount at the agent's price, and none for anything else. */
function* charges(owner: Owner, reading: Reading): Generator<Violation> {
  const tenant = reading.tenants.find((one) => one.owner.id === owner.owner)
  if (!tenant) return
  const entries = owner.ledger.filter(({ kind }) => kind === 'charge')
  const byRequest = Map.groupBy(entries, ({ requestId }) => requestId ?? '')
  const replied = new Map(
    reading.requests.flatMap((request) =>
      request.reply && request.tenant === tenant ? [[request.reply.said.request_id, request] as const] : [],
    ),
  )
  for (const [requestId, request] of replied) {
    const own = byRequest.get(requestId) ?? []
    const { said } = request.reply!
    const events = [owner.index, ...request.tries.find(({ reply }) => reply)!.events]
    if (own.length !== 1) yield { check: 'money', what: `${own.length} charges for "${request.message}"`, events }
    else if (units(own[0]!.amountUsd) !== -units(said.usage.charged_usd))
      yield { check: 'money', what: `charged ${own[0]!.amountUsd} and reported ${said.usage.charged_usd}`, events }
    else if (!isPriced(units(said.usage.charged_usd) + units(own[0]!.writtenOffUsd), request, tenant, reading))
      yield {
        check: 'money',
        what: `${said.usage.charged_usd} for ${said.usage.prompt_tokens} + ${said.usage.completion_tokens} tokens`,
        events,
      }
  }
  const mayBeUnheard = unheardOf(reading)
  for (const [requestId, [entry]] of byRequest) {
    if (replied.has(requestId)) continue
    const run = reading.runs.get(requestId)
    // The caller of a key that was revoked during a turn gets no response, and its turn is charged.
    const unheard = reading.admin.some((change) => change.what === 'revoke' && change.key === run?.key)
    const left = mayBeUnheard.get(run?.key ?? '') ?? 0
    // A cancelled turn pays its finished tool calls, and nothing else.
    const isOfTools = run?.state === 'cancelled' && isPaidByCancel(-units(entry!.amountUsd), requestId, tenant, reading)
    if (isOfTools) continue
    if (run?.state === 'completed' && !unheard && left > 0) mayBeUnheard.set(run.key, left - 1)
    else if (run?.state !== 'completed' || !unheard)
      yield { check: 'money', what: `${entry!.amountUsd} charged for ${requestId}, which had no response`, events: [owner.index] }
  }
}

function isPriced(units: bigint, request: Request, tenant: Tenant, reading: Reading): boolean {
  const { said } = request.reply!
  const tokens = costOf(said, tenant, request)
  const calls = toolCallsOf(said.request_id, tenant, reading, request.key.agentId)
  return units >= tokens.least + calls.least && units <= tokens.most + calls.most
}

function isPaidByCancel(units: bigint, requestId: string, tenant: Tenant, reading: Reading): boolean {
  const agentId = tenant.keys.find(({ name }) => name === reading.runs.get(requestId)?.key)?.agentId ?? ''
  return units > 0n && units <= toolCallsOf(requestId, tenant, reading, agentId).most
}

/**
 * For each API key, requests that may run although their caller has received the outcome: an earlier attempt, which the caller had given
 * up, was in a frozen process and was read after another one had been refused.
 */
function unheardOf({ requests }: Reading): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { reply, tries, key } of requests) {
    const wasLeft = tries.some(({ answer, code, call }) => code === undefined && answer !== undefined && !call.resumes)
    const wasRefused = tries.some(({ code }) => code === 'agent_disabled')
    if (!reply && wasLeft && wasRefused) counts.set(key.name, (counts.get(key.name) ?? 0) + 1)
  }
  return counts
}

const oneStep = maxCallsPerAttempt('')

// No prompt or reply of a run has half as many tokens.
const impossibleTokens = 1_000_000
const isBelieved = (figure: number, reported: number): boolean =>
  reported < impossibleTokens ? figure === reported : figure > 0 && figure < impossibleTokens

/**
 * The tokens of a reply with one step are those reported by its model call, or a quarter of the bytes of its reasoning and text if none were
 * reported in time. A count that is impossible is limited.
 */
function* usage({ requests, models }: Reading): Generator<Violation> {
  const calls = new Map(models.map((model) => [model.serial, model]))
  for (const { reply, message, tries } of requests) {
    if (!reply || maxCallsPerAttempt(message) !== oneStep) continue
    const [, serial] = /\[c(\d+)\]/.exec(reply.said.message.content) ?? []
    const model = calls.get(Number(serial))
    // An empty answer before it has a cost, too.
    if (!model || message.includes(' empty ')) continue
    const { prompt_tokens: prompt, completion_tokens: completion } = reply.said.usage
    const { content, incomplete } = reply.said.message
    const isReported =
      model.usage !== null && isBelieved(prompt, model.usage.prompt_tokens) && isBelieved(completion, model.usage.completion_tokens)
    const isEstimated = prompt > 0 && completion === Math.ceil(Buffer.byteLength(reasoningFor(message) + content) / 4)
    // A call that was cancelled may have ended before its usage was reported.
    const isRight = incomplete ? isReported || isEstimated : model.usage ? isReported : isEstimated
    if (!isRight)
      yield {
        check: 'money',
        what: `a usage of ${prompt} + ${completion} for "${message}"`,
        events: [model.index, ...tries.find((one) => one.reply)!.events],
      }
  }
}
