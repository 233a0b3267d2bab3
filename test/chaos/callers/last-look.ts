/**
 * The end of a run without faults: every key is sent once more, and all stored data is read. The checker compares it with what callers
 * received before.
 */
import { setTimeout as pass } from 'node:timers/promises'
import type { History } from '../history.ts'
import type { Random } from '../random.ts'
import { readAccess } from './access.ts'
import { codeOf } from './ask.ts'
import type { Asking } from './ask.ts'
import type { Book } from './caller.ts'
import { readSpending } from './operator.ts'
import type { Admin, Testbed } from './operator.ts'

type LastLookOptions = { admin: Admin; testbed: Testbed; asking: Asking; book: Book; history: History; random: Random }

// As many at once as a small machine handles.
const atOnce = 8
// A store that has just recovered may return 503 once or twice.
const maxTries = 5
const pauseMs = 200

export async function lookLast(options: LastLookOptions): Promise<void> {
  const { admin, testbed, asking, book, history, random } = options
  // A refused message stored nothing to read, and would run now.
  const known = book.turns.filter(({ outcome }) => outcome !== 'refused')
  await sideBySide(known, async ({ turn }, at) => {
    const draw = random.fork(`replay ${at}`)
    for (let tries = 0; tries < maxTries; tries++) {
      const came = await asking.once(turn, { transport: draw.pick(['chat', 'stream']), final: true }, draw)
      const code = codeOf(came)
      if (!again.has(code)) return
      // A window does not end within these attempts.
      if (code !== 'rate_limit_exceeded') await pass(pauseMs)
    }
  })
  const keys = testbed.tenants.flatMap((tenant) => tenant.keys)
  for (const key of keys) {
    const conversations = await admin.all(`/conversations?key_id=${key.id}`)
    await sideBySide(conversations, async ({ id, external_user_id: user }) => {
      const messages = (await admin.all(`/conversations/${id}/messages`)).toReversed().map(readMessage)
      history.write({ kind: 'stored', what: 'conversation', at: history.now(), key: key.name, user, id, messages, by: 'admin' })
    })
  }
  const nameOf = new Map(keys.map(({ id, name }) => [id, name]))
  for (const { owner, agents } of testbed.tenants) {
    const { balance_usd: balanceUsd, held_usd: heldUsd, available_usd: availableUsd } = (await admin.call('GET', `/owners/${owner.id}`))!
    const ledger = (await admin.all(`/owners/${owner.id}/ledger`)).toReversed().map((entry) => ({
      id: String(entry['id']),
      kind: String(entry['kind']),
      amountUsd: String(entry['amount_usd']),
      writtenOffUsd: String(entry['written_off_usd']),
      requestId: entry['request_id'] as string | null,
    }))
    history.write({ kind: 'stored', what: 'owner', at: history.now(), owner: owner.id, balanceUsd, heldUsd, availableUsd, ledger })
    for (const agent of agents) {
      const spending = agent.capped && (await readSpending(admin, agent.id))
      if (spending) history.write({ kind: 'admin', at: history.now(), startedAt: history.now(), ...spending })
      const turns = (await admin.all(`/turns?agent_id=${agent.id}`)).map((turn) => ({
        requestId: String(turn['request_id']),
        key: nameOf.get(String(turn['key_id'])) ?? '',
        state: String(turn['state']),
        run: Number(turn['run']),
        attempts: Number(turn['attempts']),
        heldUsd: String(turn['held_usd']),
      }))
      history.write({ kind: 'stored', what: 'turns', at: history.now(), turns })
      const feedback = (await admin.all(`/feedback?agent_id=${agent.id}`)).map((given) => ({
        requestId: String(given['request_id']),
        rating: String(given['rating']),
        comment: given['comment'] as string | null,
        tags: given['tags'] as string[],
      }))
      history.write({ kind: 'stored', what: 'feedback', at: history.now(), feedback })
    }
  }
  await readAccess(options)
  await readDeliveries(options)
}

// Attempts that hang end after 20 s, and the leases of a dead process after 30 s. Each may be followed by another one.
const deliveriesMs = 120_000
// Later than the end of any lease: the delivery waits for its next attempt. To retry one that is being sent would discard its result.
const waitingMs = 40_000

/** All deliveries, after the operator has sent again what would otherwise wait for minutes. */
async function readDeliveries({ admin, testbed, history }: LastLookOptions): Promise<void> {
  const path = `/webhooks/${testbed.webhookId}/deliveries`
  for (const until = history.now() + deliveriesMs; history.now() < until; await pass(pauseMs)) {
    const pending = await admin.all(`${path}?status=pending`)
    if (pending.length === 0) break
    const waiting = pending.filter(({ next_attempt_at: at }) => Date.parse(String(at)) > Date.now() + waitingMs)
    await sideBySide(waiting, async ({ id }) => void (await admin.call('POST', `${path}/${id}/retry`)))
  }
  const deliveries = (await admin.all(path)).map(({ id, status, attempts }) => ({ id: String(id), status: String(status), attempts }))
  history.write({ kind: 'stored', what: 'deliveries', at: history.now(), deliveries })
}

const again = new Set([undefined, 'service_unavailable', 'api_rate_limit_unavailable', 'rate_limit_exceeded', 'idempotency_in_progress'])

const readMessage = (message: Record<string, unknown>) => ({
  id: String(message['id']),
  role: String(message['role']),
  content: String(message['content']),
  requestId: String(message['request_id']),
  createdAt: String(message['created_at']),
})

async function sideBySide<Item>(items: Item[], make: (item: Item, at: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) await make(items[at]!, at)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
