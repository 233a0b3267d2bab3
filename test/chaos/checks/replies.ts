/**
 * One reply for one key, permanently, stored once: H1, H2, and that IDs and replies belong to their request (`idempotency.replay`,
 * `billing.once`). Pure.
 */
import type { Reading, Request, Violation } from './reading.ts'

export function checkReplies(reading: Reading): Violation[] {
  return [
    ...oneReply(reading),
    ...oneBody(reading),
    ...storedForEver(reading),
    ...nothingElseStored(reading),
    ...ownIds(reading),
    ...ownWords(reading),
  ]
}

/** H1: all 200 responses of one key and body have the same bytes on both transports, and every stream names the same turn. */
function* oneReply({ requests }: Reading): Generator<Violation> {
  for (const { tries, reply, requestIds, message } of requests) {
    const other = tries.find((one) => one.reply && one.reply.text !== reply!.text)
    if (other)
      yield { check: 'H1', what: `two replies for one key: ${reply!.text} and ${other.reply!.text}`, events: eventsOf(tries, 'reply') }
    else if (requestIds.size > 1)
      yield { check: 'H1', what: `${requestIds.size} request ids for "${message}"`, events: tries.flatMap(({ events }) => events) }
  }
}

/** H1: of two bodies with one key, one has a reply and the other a conflict. */
function* oneBody({ requests }: Reading): Generator<Violation> {
  const byKey = Map.groupBy(requests, ({ key, idempotencyKey }) => JSON.stringify([key.name, idempotencyKey]))
  for (const bodies of byKey.values()) {
    const replied = bodies.filter(({ reply }) => reply)
    if (replied.length > 1)
      yield {
        check: 'H1',
        what: 'two bodies under one key both have a reply',
        events: replied.flatMap(({ tries }) => eventsOf(tries, 'reply')),
      }
    for (const { tries } of bodies) {
      for (const { code, events, answer } of tries) {
        const another = bodies.length > 1 && bodies.some((one) => one.tries !== tries && one.openedAt < answer!.at)
        if (code === 'idempotency_conflict' && !another)
          yield { check: 'own', what: 'a conflict under a key that had no other body', events }
      }
    }
  }
}

/** H2: what was returned as a reply is in its conversation once, after its message, and is returned to every retry. */
function* storedForEver(reading: Reading): Generator<Violation> {
  const { requests, conversations, events } = reading
  if (!events.some(({ kind }) => kind === 'stored')) return
  const stored = new Map(conversations.map((conversation) => [conversation.id, conversation]))
  for (const request of requests) {
    const { reply, tries, key, user } = request
    if (!reply) continue
    const erased = reading.erasedBy(request, Infinity)
    const conversation = stored.get(reply.said.conversation_id)
    if (erased && erased.at >= reply.at) {
      if (conversation?.messages.some(({ requestId }) => requestId === reply.said.request_id))
        yield { check: 'operator', what: 'an erased message is still stored', events: [erased.index, conversation.index] }
      continue
    }
    const [first] = eventsOf(tries, 'reply')
    const at = conversation?.messages.findIndex(({ id }) => id === reply.said.message.id) ?? -1
    const [question, answer] = at < 1 ? [] : conversation!.messages.slice(at - 1, at + 1)
    const isThere =
      question?.role === 'user' &&
      question.content === request.message &&
      question.requestId === reply.said.request_id &&
      answer?.role === 'assistant' &&
      answer.content === reply.said.message.content &&
      answer.requestId === reply.said.request_id &&
      answer.createdAt === reply.said.message.created_at
    if (!isThere || conversation!.key !== key.name || conversation!.user !== user)
      yield {
        check: 'H2',
        what: `an acknowledged reply to "${request.message}" is not stored`,
        events: [first!, ...(conversation ? [conversation.index] : [])],
      }
    const asked = tries.filter(({ call }) => call.final)
    // A full rate window is not a fault; anything else has ended by then.
    if (asked.length > 0 && asked.every(({ code }) => code === undefined || (transient.has(code) && code !== 'rate_limit_exceeded')))
      yield {
        check: 'H2',
        what: `a confirmed reply to "${request.message}" is not returned again at the end`,
        events: [first!, ...asked.flatMap(({ events: supervisedServers }) => supervisedServers)],
      }
    for (const { call, code, events: supervisedServers } of tries) {
      // Of a turn that is also cancelled, cancels.ts reports it.
      if (
        call.final &&
        code !== undefined &&
        code !== 'reply' &&
        code !== 'turn_cancelled' &&
        !transient.has(code) &&
        !isRevoked(reading, request, call.at)
      )
        yield { check: 'H2', what: `an acknowledged reply is answered with ${code} at the end`, events: [first!, ...supervisedServers] }
    }
  }
}

/** A conversation contains complete exchanges, each once, and nothing that no caller received. */
function* nothingElseStored({ conversations, requests, byMessage }: Reading): Generator<Violation> {
  const known = new Map(requests.flatMap((request) => [...request.requestIds].map((id) => [id, request] as const)))
  for (const { messages, index, key, user } of conversations) {
    const wrong = messages.find(({ role }, at) => role !== (at % 2 === 0 ? 'user' : 'assistant'))
    if (wrong || messages.length % 2 === 1) yield { check: 'H2', what: `the messages of a conversation do not alternate`, events: [index] }
    const twice = messages.find(({ id, requestId, role }, at) =>
      messages.some((one, other) => other < at && (one.id === id || (one.requestId === requestId && one.role === role))),
    )
    if (twice) yield { check: 'H2', what: `stored twice: ${twice.content}`, events: [index] }
    for (const { role, content, requestId } of messages) {
      if (role !== 'user') continue
      const request = byMessage.get(content)
      if (!request || request.key.name !== key || request.user !== user)
        yield { check: 'own', what: `a conversation holds what its user never said: "${content}"`, events: [index] }
      // An attempt without a waiting caller has returned no ID.
      else if (known.get(requestId) !== request && request.requestIds.size > 0)
        yield { check: 'H2', what: `"${content}" is stored under the id of another request`, events: [index] }
      else if (
        !request.reply &&
        (request.cancelledAt !== undefined ||
          request.tries.some(({ call, code }) => call.final && code !== undefined && !transient.has(code) && code !== 'invalid_api_key'))
      )
        yield {
          check: 'H2',
          what: `a message that has failed is in the history: "${content}"`,
          events: [index, ...request.tries.at(-1)!.events],
        }
    }
  }
}

/** No two requests share a request ID or a message ID. A conversation belongs to one key and one user. */
function* ownIds(reading: Reading): Generator<Violation> {
  const owners = new Map<string, Request>()
  const conversationOf = new Map<string, { id: string; request: Request }>()
  for (const request of reading.requests) {
    const { reply, key, user, tries } = request
    for (const id of [...request.requestIds, ...(reply ? [reply.said.message.id] : [])]) {
      const other = owners.get(id)
      if (other && other !== request)
        yield { check: 'own', what: `${id} belongs to two requests`, events: [...other.tries[0]!.events, ...tries[0]!.events] }
      owners.set(id, request)
    }
    if (!reply) continue
    const { conversation_id: id } = reply.said
    const pair = JSON.stringify([key.name, user])
    const [before, holder] = [conversationOf.get(pair), conversationOf.get(id)]
    if (holder && JSON.stringify([holder.request.key.name, holder.request.user]) !== pair)
      yield {
        check: 'own',
        what: `${id} is a conversation of two users`,
        events: [...eventsOf(holder.request.tries, 'reply'), ...eventsOf(tries, 'reply')],
      }
    if (before && before.id !== id && !reading.erasedBy(request, Infinity))
      yield {
        check: 'own',
        what: `one user of one key has two conversations`,
        events: [...eventsOf(before.request.tries, 'reply'), ...eventsOf(tries, 'reply')],
      }
    conversationOf.set(pair, { id, request })
    conversationOf.set(id, { id, request })
  }
}

// The text of one step is one paragraph.
const betweenSteps = '\n\n'

/** A turn that was cancelled has the start of the text as its reply. */
const isSaid = (content: string, text: string, incomplete: true | undefined): boolean =>
  incomplete ? text.startsWith(content) : text === content

/** What a model generated for another message, or did not finish, is not a reply. */
function* ownWords({ requests, models, events }: Reading): Generator<Violation> {
  const calls = new Map(models.map((model) => [model.serial, model]))
  const whole = new Set(events.flatMap((event) => (event.kind === 'modelEnd' && event.answered === 'whole' ? [event.serial] : [])))
  for (const { reply, message, tries } of requests) {
    if (!reply) continue
    const { content, incomplete } = reply.said.message
    const serials = [...content.matchAll(/\[c(\d+)\]/g)].map(([, serial]) => Number(serial))
    const supervisedServers = eventsOf(tries, 'reply').slice(0, 2)
    if (content === '') yield { check: 'envelope', what: 'a reply without text', events: supervisedServers }
    else if (serials.length === 0 || serials.some((serial) => calls.get(serial)?.message !== message))
      yield { check: 'own', what: `the reply to "${message}" was said about something else`, events: supervisedServers }
    else if (!isSaid(content, serials.map((serial) => calls.get(serial)!.text).join(betweenSteps), incomplete))
      yield {
        check: 'own',
        what: `the reply is not what the model said: ${content}`,
        events: [...supervisedServers, calls.get(serials.at(-1)!)!.index],
      }
    else if (serials.slice(0, incomplete ? -1 : undefined).some((serial) => !whole.has(serial)))
      yield {
        check: 'own',
        what: `the model never finished what is the reply to "${message}"`,
        events: [...supervisedServers, calls.get(serials.at(-1)!)!.index],
      }
  }
}

/** Not the end of a request. */
export const transient = new Set([
  'accepted',
  'service_unavailable',
  'api_rate_limit_unavailable',
  'rate_limit_exceeded',
  'idempotency_in_progress',
  'conversation_busy',
])

const isRevoked = ({ admin }: Reading, { key }: Request, at: number): boolean =>
  admin.some((change) => change.what === 'revoke' && change.key === key.name && change.startedAt <= at)

const eventsOf = (tries: Request['tries'], wanted: string): number[] => tries.flatMap(({ code, events }) => (code === wanted ? events : []))
