/**
 * Every way in which a history can violate a guarantee, one at a time: what the checker must report, and by which check. Each changes the
 * valid history as little as necessary to violate this one guarantee.
 */
import type { CheckName } from './check.ts'
import type {
  AnswerEvent,
  CallEvent,
  CancelEvent,
  FeedbackEvent,
  HistoryEvent,
  PollEvent,
  StoredConversation,
  StoredDeliveries,
  StoredFeedback,
  StoredOwner,
  StoredTurns,
  WebhookEvent,
} from './history.ts'
import { soundHistory } from './sound-history.ts'

type Json = Record<string, any>
type StoredList = StoredTurns | StoredFeedback | StoredDeliveries
type AboutTurn = { cancel: CancelEvent; poll: PollEvent; feedback: FeedbackEvent }

/** A copy of the history, with ways to find the events to change. */
export class Broken {
  readonly events: HistoryEvent[] = structuredClone(soundHistory())

  of<Kind extends HistoryEvent['kind']>(kind: Kind): Extract<HistoryEvent, { kind: Kind }>[] {
    return this.events.filter((event): event is Extract<HistoryEvent, { kind: Kind }> => event.kind === kind)
  }
  /** Of the message with this name, the n-th from 0, or from the end. */
  call(name: string, nth = 0): CallEvent {
    return this.of('call')
      .filter(({ message }) => message.startsWith(`${name} `))
      .at(nth)!
  }
  answer(name: string, nth = 0): AnswerEvent {
    const { call } = this.call(name, nth)
    return this.of('answer').find((answer) => answer.call === call)!
  }
  cancel(name: string, nth = 0): { asked: CancelEvent; answer: AnswerEvent } {
    return this.about('cancel', name, nth)
  }
  /** The n-th request of this kind about the turn of the message with this name, and its response. */
  about<Kind extends keyof AboutTurn>(kind: Kind, name: string, nth = 0): { asked: AboutTurn[Kind]; answer: AnswerEvent } {
    const asked = (this.of(kind) as AboutTurn[Kind][]).filter(({ message }) => message.startsWith(`${name} `)).at(nth)!
    return { asked, answer: this.of('answer').find(({ call }) => call === asked.call)! }
  }
  stored<What extends StoredList['what']>(what: What): Extract<StoredList, { what: What }> {
    return this.of('stored').find((stored): stored is Extract<StoredList, { what: What }> & typeof stored => stored.what === what)!
  }
  /** The last delivery of a turn, which the receiver accepted. */
  received(): WebhookEvent {
    return this.of('webhook').at(-1)!
  }
  /** A second delivery after it. */
  receivedAgain(change: Partial<WebhookEvent>): void {
    const last = this.received()
    this.events.splice(this.events.indexOf(last) + 1, 0, { ...structuredClone(last), ...change })
  }
  /** Removes the events of a turn. */
  forgetEvents(requestId: string): void {
    this.remove((event) => event.kind === 'webhook' && event.id.includes(requestId))
    const { deliveries } = this.stored('deliveries')
    deliveries.splice(0, deliveries.length, ...deliveries.filter(({ id }) => !id.includes(requestId)))
  }
  /** Everything about the end of a turn that was delivered says something else. */
  renameEvents(requestId: string, [from, to]: [from: string, to: string]): void {
    const renamed = (text: string): string => text.replaceAll(from, to)
    for (const event of [...this.of('webhook'), ...this.stored('deliveries').deliveries])
      if (event.id.includes(requestId)) {
        event.id = renamed(event.id)
        if ('body' in event) event.body = renamed(event.body)
      }
  }
  turnAt(name: string): number {
    const { requestId } = this.about('poll', name).asked
    return this.stored('turns').turns.findIndex((turn) => turn.requestId === requestId)
  }
  feedbackOn(name: string): StoredFeedback['feedback'][0] {
    const { requestId } = this.about('feedback', name).asked
    return this.stored('feedback').feedback.find((one) => one.requestId === requestId)!
  }
  stateOf(name: string): StoredTurns['turns'][0] {
    const { requestId } = this.cancel(name).asked
    return this.of('stored')
      .flatMap((stored) => (stored.what === 'turns' ? stored.turns : []))
      .find((turn) => turn.requestId === requestId)!
  }
  models(name: string) {
    return this.of('model').filter(({ message }) => message.startsWith(`${name} `))
  }
  conversation(user: string): StoredConversation {
    return this.of('stored').find((stored): stored is StoredConversation => stored.what === 'conversation' && stored.user === user)!
  }
  owner(id: string): StoredOwner {
    return this.of('stored').find((stored): stored is StoredOwner => stored.what === 'owner' && stored.owner === id)!
  }
  /** Of a response on /chat. */
  edit(answer: AnswerEvent, change: (body: Json) => void): void {
    const body = JSON.parse(answer.body!) as Json
    change(body)
    answer.body = JSON.stringify(body)
  }
  /** Of a stream. */
  editLast(answer: AnswerEvent, change: (data: Json) => void): void {
    const last = answer.events!.at(-1)!
    const data = JSON.parse(last.data) as Json
    change(data)
    last.data = JSON.stringify(data)
  }
  /** Every response to a message, changed in the same way, so that they agree with one another. */
  editAll(name: string, change: (reply: Json) => void): void {
    for (const call of this.of('call').filter(({ message }) => message.startsWith(`${name} `))) {
      const answer = this.of('answer').find((one) => one.call === call.call)!
      if (answer.events) this.editLast(answer, change)
      else if (answer.status === 200) this.edit(answer, change)
    }
  }
  remove(wanted: (event: HistoryEvent) => boolean): void {
    const kept = this.events.filter((event) => !wanted(event))
    this.events.splice(0, this.events.length, ...kept)
  }
  /** A second request right after the first response, with its response. */
  again(name: string, answered: Partial<AnswerEvent>, asked: Partial<CallEvent> = {}): void {
    const [call, answer] = [structuredClone(this.call(name)), structuredClone(this.answer(name))]
    const [number, at] = [10_000 + this.events.length, answer.at + 1]
    const supervised = this.events.findIndex((event) => event.kind === 'answer' && event.call === call.call) + 1
    const sent = { ...call, ...asked, call: number, at }
    this.events.splice(supervised, 0, sent, { ...answer, at: at + 2, headAt: at + 1, call: number, ...answered })
  }
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Partial<AnswerEvent> => {
  const requestId = '00000000-0000-4000-8000-00000000abcd'
  return {
    status,
    headers: { 'x-request-id': requestId, 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify({ error: { code, message: 'It says why.', request_id: requestId } }),
    events: null,
  }
}

const spendingAt = (h: Broken, nth: number) =>
  h.of('admin').filter((change): change is Extract<typeof change, { what: 'spending' }> => change.what === 'spending')[nth]!

const rateHeaders = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '9', 'x-ratelimit-reset': '1800000060' }

export const ways: [check: CheckName, what: string, corrupt: (history: Broken) => void][] = [
  [
    'H1',
    'a request in progress that leads to another turn',
    (h) => (h.answer('slow', 1).headers['location'] = '/v1/agents/agt_amber/turns/other'),
  ],
  ['H1', 'a replay with other words', (h) => h.edit(h.answer('first', -1), (body) => (body.message.content += '!'))],
  [
    'H1',
    'a replay with another usage',
    (h) => h.edit(h.answer('first', -1), (body) => (body.usage = { ...body.usage, prompt_tokens: 99, total_tokens: 106 })),
  ],
  [
    'H1',
    'a replay with its fields in another order',
    (h) => h.edit(h.answer('first', -1), (body) => (body.usage = Object.fromEntries(Object.entries(body.usage).toReversed()))),
  ],
  [
    'H1',
    'a stream that completes otherwise',
    (h) => h.editLast(h.answer('first', 1), (data) => (data.message.created_at = '2027-01-15T08:00:09.000Z')),
  ],
  ['H2', 'a reply that is not stored', (h) => h.conversation('bob').messages.splice(-2)],
  ['H2', 'an exchange that is stored twice', (h) => h.conversation('bob').messages.push(...h.conversation('bob').messages.slice(-2))],
  ['H2', 'a stored reply with other words', (h) => (h.conversation('hal').messages.at(-1)!.content += '!')],
  ['H2', 'a message without its reply', (h) => h.conversation('hal').messages.pop()],
  ['H2', 'an acknowledged reply that is refused at the end', (h) => Object.assign(h.answer('first', -1), refusal(500, 'internal_error'))],
  [
    'H2',
    'a confirmed reply that is not returned again at the end',
    (h) => Object.assign(h.answer('first', -1), refusal(503, 'service_unavailable', { 'retry-after': '5' })),
  ],
  [
    'H3',
    'a replay that asks the model, long after what was broken',
    (h) => h.events.push({ ...structuredClone(h.models('waiting')[0]!), serial: 904, at: h.answer('waiting', -1).at - 1 }),
  ],
  [
    'H3',
    'a second model call with nothing broken',
    (h) => h.events.splice(h.events.indexOf(h.models('first')[0]!), 0, { ...h.models('first')[0]!, serial: 900 }),
  ],
  ['H3', 'a model call less than the failures take', (h) => h.remove((event) => event === h.models('failed')[0])],
  ['H3', 'a replay that asks the model', (h) => h.events.push({ ...h.models('first')[0]!, serial: 901, at: h.answer('first', 1).at })],
  ['H4', 'a delta that is lost', (h) => void h.answer('second').events!.splice(1, 1)],
  ['H4', 'a delta that comes twice', (h) => void h.answer('second').events!.splice(1, 0, h.answer('second').events![1]!)],
  ['H4', 'a stream without its end', (h) => void h.answer('second').events!.pop()],
  ['H4', 'an event behind the end', (h) => void h.answer('second').events!.push(h.answer('second').events![1]!)],
  ['H4', 'no deltas for the first who asks', (h) => void h.answer('second').events!.splice(1, 2)],
  ['H4', 'two lines of data', (h) => (h.answer('second').events![1]!.data = h.answer('second').events![1]!.data.replace('{', '{\n'))],
  [
    'H5',
    'an answer without X-Request-ID',
    (h) =>
      delete h.answer('other').headers['x-request-id'] &&
      (h.answer('other').body = h.answer('other').body!.replace(/"request_id":"[^"]*"/, '"request_id":null')),
  ],
  [
    'H5',
    'an envelope with another id than the header',
    (h) => (h.answer('other').headers['x-request-id'] = '00000000-0000-4000-8000-00000000abcd'),
  ],
  ['H5', 'rate headers on a 409', (h) => Object.assign(h.answer('early').headers, rateHeaders)],
  ['H5', 'no rate headers on a 200', (h) => delete h.answer('first').headers['x-ratelimit-remaining']],
  ['H5', 'a busy without Retry-After', (h) => delete h.answer('early').headers['retry-after']],
  ['H5', 'a header for browsers', (h) => (h.answer('first').headers['access-control-allow-origin'] = '*')],
  [
    'H6',
    'two units spent as one',
    (h) => (h.answer('two').headers['x-ratelimit-remaining'] = h.answer('one').headers['x-ratelimit-remaining']!),
  ],
  ['H6', 'many more than the window holds', (h) => Array.from({ length: 5 }, () => h.again('three', {}))],
  [
    'H6',
    'more than a shared window allows while a process restarts',
    (h) => {
      h.of('begin')[0]!.options = { store: 'postgres' }
      h.events.splice(h.events.indexOf(h.call('three')), 0, { ...h.of('process')[0]!, at: h.call('three').at, why: 'again' })
      for (let times = 0; times < 5; times++) h.again('three', {})
    },
  ],
  [
    'H7',
    'a reply while the limiter is down',
    (h) =>
      Object.assign(h.answer('waiting'), {
        ...structuredClone(h.answer('waiting', 1)),
        call: h.call('waiting').call,
        at: h.answer('waiting').at,
        headAt: h.answer('waiting').headAt,
      }),
  ],
  ['H8', 'a model call for a refused request', (h) => askRefused(h)],
  [
    'H8',
    'a model call for what is not valid',
    (h) => h.events.push({ ...structuredClone(h.models('first')[0]!), serial: 903, message: h.call('nonsense').message }),
  ],
  ['H9', 'a key that never ends', (h) => h.again('four', {})],
  ['H10', 'a history without its last exchange', (h) => h.models('edited')[0]!.messages.splice(-3, 2)],
  [
    'H10',
    'a history in another order',
    (h) => void h.models('edited')[0]!.messages.splice(1, 4, ...h.models('edited')[0]!.messages.slice(1, 5).toReversed()),
  ],
  [
    'H10',
    'a history with a message that failed',
    (h) => h.models('edited')[0]!.messages.splice(-1, 0, { role: 'user', content: 'failed' }, { role: 'assistant', content: '' }),
  ],
  ['H11', 'busy with nothing running', (h) => h.again('poor', refusal(409, 'conversation_busy', { 'retry-after': '2' }))],
  ['H11', 'in progress with nothing running', (h) => h.again('poor', refusal(409, 'idempotency_in_progress', { 'retry-after': '2' }))],
  ['H12', "another tenant's word in a header", (h) => (h.answer('poor', 1).headers['x-note'] = 'amber1')],
  ['H12', 'a word of the system prompt in an error', (h) => h.edit(h.answer('early'), (body) => (body.error.message = 'prompt-amber1'))],
  ['H12', "another tenant's word in a prompt", (h) => (h.models('poor')[0]!.messages[0]!.content += 'document-amber1')],
  ['money', 'a second charge', (h) => h.owner('own_amber').ledger.push({ ...h.owner('own_amber').ledger.at(-1)!, id: 'led_x' })],
  ['money', 'a reply without a charge', (h) => void h.owner('own_amber').ledger.pop()],
  ['money', 'a charge above the price', (h) => chargeMore(h)],
  ['money', 'a hold that is left', (h) => (h.owner('own_birch').heldUsd = '0.00000001')],
  [
    'money',
    'a balance below zero',
    (h) =>
      Object.assign(
        h.of('admin').find(({ what }) => what === 'balance')!,
        { balanceUsd: '-0.00000001' },
      ),
  ],
  ['money', 'a top-up that counts twice', (h) => creditTwice(h)],
  [
    'money',
    'a usage that the model never reported',
    (h) => Object.assign(h.models('first')[0]!, { usage: { prompt_tokens: 90, completion_tokens: 7 } }),
  ],
  [
    'money',
    'a charge for a turn without a response',
    (h) => Object.assign(h.owner('own_amber').ledger.at(-1)!, { requestId: '00000000-0000-4000-8000-00000000abcd' }),
  ],
  [
    'tools',
    'a call with side effects that is made twice',
    (h) => h.events.splice(h.events.indexOf(h.of('tool')[0]!), 0, structuredClone(h.of('tool')[0]!)),
  ],
  ['tools', 'a booking under another key than its own', (h) => (h.of('tool')[0]!.idempotencyKey = 'made-up')],
  ['tools', 'a booking that was never made', (h) => h.remove(({ kind }) => kind === 'tool')],
  ['envelope', 'an error in another shape', (h) => (h.answer('off').body = '{"message":"off"}')],
  ['envelope', 'a code with another status', (h) => (h.answer('off').status = 404)],
  ['envelope', 'an undocumented field', (h) => h.editAll('waiting', (reply) => (reply.debug = true))],
  ['envelope', 'a stack in an error', (h) => h.edit(h.answer('off'), (body) => (body.error.message = 'SqliteError: disk'))],
  ['envelope', 'a valid answer to nonsense', (h) => Object.assign(h.answer('nonsense'), refusal(404, 'agent_not_found'))],
  [
    'spend-limit',
    'a refusal while enough is free',
    (h) => Object.assign(h.of('setup')[0]!.tenants[2]!.agents[0]!.capped!, { agentUsd: '0.1', endUserUsd: '0.1' }),
  ],
  ['spend-limit', 'an end user above the limit', (h) => (h.of('setup')[0]!.tenants[2]!.agents[0]!.capped!.endUserUsd = '0.00006049')],
  ['spend-limit', 'a window above its limit', (h) => (spendingAt(h, 0).heldUsd = '0.00787901')],
  ['spend-limit', 'a window that holds when nothing runs', (h) => (spendingAt(h, 1).heldUsd = '0.00000001')],
  ['spend-limit', 'a window that was reset', (h) => (spendingAt(h, 1).spentUsd = '0.00006050')],
  ['envelope', 'a limit for an agent that has none', (h) => h.again('first', refusal(402, 'spend_limit_exceeded'))],
  ['envelope', 'no balance for a rich owner', (h) => h.again('first', refusal(402, 'insufficient_balance'))],
  ['own', 'a message id of two requests', (h) => shareId(h)],
  ['own', 'a reply that was said about another message', (h) => swapWords(h)],
  [
    'own',
    'a reply that the model never finished',
    (h) => (h.of('modelEnd').find(({ serial }) => serial === h.models('first')[0]!.serial)!.answered = 'aborted'),
  ],
  ['own', 'a conflict without another body', (h) => h.again('poor', refusal(409, 'idempotency_conflict'))],
  ['unfair', 'a body of many names that is accepted', (h) => (h.of('unfair')[0]!.status = 200)],
  ['unfair', 'a body of many names that breaks the server', (h) => (h.of('unfair')[0]!.status = 500)],
  [
    'unfair',
    'an unfair request without a response',
    (h) => Object.assign(h.of('unfair').at(-1)!, { status: null, end: 'broken', error: 'ECONNRESET' }),
  ],
  ['operator', 'a reply to what was erased', (h) => answerAs(h, 'gone')],
  ['operator', 'an answer for a key that was revoked', (h) => answerAs(h, 'stale')],
  ['operator', 'an agent that is on and refuses', (h) => [h.call('off'), h.answer('off')].forEach((event) => (event.at += 500))],
  ['operator', 'an agent that is off and answers', (h) => switchOff(h)],
  [
    'operator',
    'an old version of the prompt',
    (h) => (h.models('edited')[0]!.messages[0]!.content = h.models('first')[0]!.messages[0]!.content),
  ],
  [
    'resume',
    'a delta that comes again on the next connection',
    (h) => void h.answer('resumed', 1).events!.unshift(h.answer('resumed').events![1]!),
  ],
  ['resume', 'a delta that no connection has', (h) => void h.answer('resumed', 1).events!.shift()],
  ['resume', 'a continued stream that starts again', (h) => void h.answer('resumed', 1).events!.unshift(h.answer('resumed').events![0]!)],
  [
    'resume',
    'a reset with nothing broken',
    (h) =>
      void h
        .answer('resumed', 1)
        .events!.unshift({ event: 'response.output_text.reset', id: '0-0', data: '{}' }, h.answer('resumed').events![1]!),
  ],
  ['resume', 'the stream of another turn', (h) => (h.call('resumed', 1).resumes!.requestId = '00000000-0000-4000-8000-00000000abcd')],
  ['resume', 'an end of the stream before its last event', (h) => (h.call('resumed', 2).resumes!.call = h.call('resumed').call)],
  ['H1', 'a continued stream that completes otherwise', (h) => completeOtherwise(h)],
  ['H4', 'an event without an ID', (h) => (h.answer('resumed', 1).events![0]!.id = '')],
  ['cancel', 'a cancelled turn that no one asked to cancel', (h) => h.remove((event) => event === h.cancel('cancelled').asked)],
  [
    'cancel',
    'a cancelled turn whose request was refused',
    (h) => Object.assign(h.cancel('cancelled').answer, refusal(503, 'api_rate_limit_unavailable', { 'retry-after': '5' })),
  ],
  ['cancel', 'an incomplete reply that no one asked for', (h) => h.remove((event) => event === h.cancel('partial').asked)],
  [
    'cancel',
    'a cancelled turn that is answered with another error',
    (h) => Object.assign(h.answer('cancelled', -1), refusal(500, 'internal_error')),
  ],
  ['cancel', 'a cancelled turn that is stored as completed', (h) => completeCancelled(h)],
  ['cancel', 'a turn that is stored as cancelled, unasked', (h) => nameCancelled(h, '00000000-0000-4000-8000-00000000abcd')],
  [
    'cancel',
    'a reply that is reported as cancelled',
    (h) =>
      Object.assign(h.cancel('partial').answer, {
        body: h.cancel('cancelled').answer.body!.replaceAll('cccc', h.cancel('partial').asked.requestId.slice(-4)).replaceAll('lee', 'max'),
      }),
  ],
  [
    'cancel',
    'another reply in the response to a cancel',
    (h) => h.edit(h.cancel('partial').answer, (turn) => (turn.message.content += '!')),
  ],
  [
    'cancel',
    'a model that goes on after a cancel',
    (h) =>
      h.events.push({
        kind: 'modelEnd',
        at: h.cancel('partial').answer.at + 4500,
        serial: h.models('partial')[0]!.serial,
        answered: 'whole',
      }),
  ],
  ['cancel', 'a turn that runs on after its cancel', (h) => (h.cancel('partial').asked.at -= 1600)],
  ['H2', 'a cancelled message in the history', (h) => putInHistory(h)],
  [
    'H3',
    'a second model call for a cancelled turn',
    (h) =>
      h.events.splice(
        h.events.indexOf(h.models('cancelled')[0]!),
        0,
        { ...h.models('cancelled')[0]!, serial: 905 },
        { ...h.models('cancelled')[0]!, serial: 906 },
      ),
  ],
  ['own', 'an incomplete reply that is not how the text starts', (h) => swapPartial(h)],
  ['money', 'a cancelled turn that is charged', (h) => chargeCancelled(h)],
  ['money', 'an incomplete reply without a charge', (h) => dropCharge(h)],
  ['envelope', 'a turn with another field', (h) => h.edit(h.cancel('partial').answer, (turn) => (turn.debug = true))],
  ['envelope', 'a cancel that is not found', (h) => Object.assign(h.cancel('resumed').answer, refusal(404, 'not_found'))],
  [
    'H6',
    'a cancel that spends nothing',
    (h) => (h.cancel('resumed').answer.headers['x-ratelimit-remaining'] = h.cancel('partial').answer.headers['x-ratelimit-remaining']!),
  ],
  ['background', 'a turn that was accepted and is not stored', (h) => dropTurn(h)],
  ['background', 'a message that is accepted again after its reply', (h) => acceptAgain(h)],
  ['H1', 'another turn for the same key after it was accepted', (h) => acceptOther(h)],
  ['envelope', 'a 202 for a caller that waits', (h) => delete h.call('followed').prefersAsync],
  ['envelope', 'a 202 without the address of the turn', (h) => delete h.answer('polled').headers['location']],
  ['H5', 'rate headers on a 202', (h) => Object.assign(h.answer('polled').headers, rateHeaders)],
  [
    'cancel',
    'another reply in the response to a poll',
    (h) => h.edit(h.about('poll', 'polled', 1).answer, (turn) => (turn.message.content += '!')),
  ],
  [
    'cancel',
    'a cancel that is reported and that no one asked for',
    (h) => h.edit(h.about('poll', 'polled').answer, (turn) => (turn.cancel_requested = true)),
  ],
  ['envelope', 'a poll that is not found', (h) => Object.assign(h.about('poll', 'polled').answer, refusal(404, 'not_found'))],
  [
    'feedback',
    'feedback that an older one has replaced',
    (h) => Object.assign(h.feedbackOn('polled'), storedAs(h.about('feedback', 'polled').asked)),
  ],
  ['feedback', 'confirmed feedback that is not stored', (h) => h.stored('feedback').feedback.splice(0, 1)],
  ['feedback', 'feedback that no one gave', (h) => (h.feedbackOn('followed').comment = 'made up')],
  ['feedback', 'feedback on a turn that no one rated', (h) => (h.feedbackOn('followed').requestId = h.cancel('partial').asked.requestId)],
  ['feedback', 'other feedback in the response', (h) => h.edit(h.about('feedback', 'polled').answer, (given) => (given.rating = 'down'))],
  ['feedback', 'refused feedback that is stored', (h) => refuseFeedback(h)],
  ['feedback', 'feedback of an erased user', (h) => eraseRated(h)],
  ['webhooks', 'an event that never arrived', (h) => h.remove((event) => event.kind === 'webhook' && event.id === h.received().id)],
  ['webhooks', 'an end of a turn without an event', (h) => h.forgetEvents(h.cancel('cancelled').asked.requestId)],
  ['webhooks', 'a delivery that is not delivered at the end', (h) => (h.stored('deliveries').deliveries[0]!.status = 'pending')],
  ['webhooks', 'a delivery that is stored as delivered without an answer', (h) => (h.received().accepted = false)],
  ['webhooks', 'another ID on a retry', (h) => h.receivedAgain({ id: `${h.received().id}_2` })],
  ['webhooks', 'another body on a retry', (h) => h.receivedAgain({ body: h.received().body.replace('"run":1', '"run":2') })],
  ['webhooks', 'an accepted event that is sent again with nothing broken', (h) => h.receivedAgain({ at: h.received().at + 100 })],
  ['webhooks', 'an event of a turn that is not stored', (h) => inventEvent(h, '00000000-0000-4000-8000-00000000abcd', 'completed')],
  ['webhooks', 'an event of another end than the stored one', (h) => inventEvent(h, h.cancel('cancelled').asked.requestId, 'failed')],
  ['webhooks', 'a released run that was not released', (h) => inventEvent(h, h.cancel('cancelled').asked.requestId, 'released')],
  ['calm', 'an error with nothing broken', (h) => h.again('early', refusal(503, 'service_unavailable', { 'retry-after': '5' }))],
]

function completeCancelled(h: Broken): void {
  const turn = h.stateOf('cancelled')
  turn.state = 'completed'
  h.renameEvents(turn.requestId, ['cancelled', 'completed'])
}

function nameCancelled(h: Broken, requestId: string): void {
  const turn = h.stateOf('cancelled')
  h.renameEvents(turn.requestId, [turn.requestId, requestId])
  turn.requestId = requestId
}

function dropTurn(h: Broken): void {
  const [turn] = h.stored('turns').turns.splice(h.turnAt('polled'), 1)
  h.forgetEvents(turn!.requestId)
}

function inventEvent(h: Broken, requestId: string, status: string): void {
  const id = `evt_${requestId}${status === 'released' ? '_1' : ''}_turn_${status}`
  const body = JSON.stringify({ type: `turn.${status}`, timestamp: '', data: { request_id: requestId, status, run: 1 } })
  h.events.splice(h.events.indexOf(h.received()), 0, { ...h.received(), id, body })
}

const storedAs = ({ rating, comment, tags }: FeedbackEvent): Omit<StoredFeedback['feedback'][0], 'requestId'> => ({ rating, comment, tags })

function acceptAgain(h: Broken): void {
  const { status, headers, body } = h.answer('polled')
  Object.assign(h.answer('polled', 3), { status, headers, body })
}

function acceptOther(h: Broken): void {
  const answer = h.answer('polled')
  const { requestId } = h.about('poll', 'polled').asked
  const other = '00000000-0000-4000-8000-00000000abcd'
  Object.assign(answer, JSON.parse(JSON.stringify(answer).replaceAll(requestId, other)))
  h.stored('turns').turns.push({ ...h.stored('turns').turns[0]!, requestId: other, state: 'running' })
}

/** The feedback without a response is stored, although no server received it. */
function refuseFeedback(h: Broken): void {
  const { asked, answer } = h.about('feedback', 'followed', 1)
  answer.error = 'ECONNREFUSED'
  Object.assign(h.feedbackOn('followed'), storedAs(asked))
}

/** Erased at the end, with the conversation and what a retry gets, and without the feedback. */
function eraseRated(h: Broken): void {
  const at = h.answer('polled', -1).at - 5
  h.events.push({ kind: 'admin', at, startedAt: at - 1, what: 'erase', key: 'main', user: 'nia' })
  Object.assign(h.answer('polled', -1), refusal(404, 'not_found'))
  h.remove((event) => event === h.conversation('nia'))
}

function askRefused(h: Broken): void {
  const [{ message }, like] = [h.call('four'), structuredClone(h.models('three')[0]!)]
  const history = h.conversation('dan').messages.map(({ role, content }) => ({ role, content }))
  h.events.push({ ...like, serial: 902, message, messages: [like.messages[0]!, ...history, { role: 'user', content: message }] })
}

function shareId(h: Broken): void {
  const { id } = JSON.parse(h.answer('first').body!).message as Json
  h.editAll('poor', (reply) => (reply.message.id = id))
  h.conversation('cid').messages.at(-1)!.id = id
}

/** The first response is returned again, although the request was refused. */
function answerAs(h: Broken, name: string): void {
  const [first, { call, at, headAt }] = [structuredClone(h.answer(name)), h.answer(name, 1)]
  first.headers['x-ratelimit-remaining'] = '1'
  Object.assign(h.answer(name, 1), { ...first, call, at, headAt })
}

function switchOff(h: Broken): void {
  const change = { kind: 'admin', what: 'switch', agent: 'agt_main' } as const
  const [before, after] = [h.call('edited').at - 1, h.answer('edited').at + 1]
  h.events.push({ ...change, enabled: false, startedAt: before, at: before }, { ...change, enabled: true, startedAt: after, at: after })
}

/** The same everywhere, except for the price. */
function chargeMore(h: Broken): void {
  const more = '0.00009999'
  const { request_id: requestId } = JSON.parse(h.answer('waiting', 1).body!) as Json
  h.editAll('waiting', (reply) => (reply.usage.charged_usd = more))
  const owner = h.owner('own_amber')
  const entry = owner.ledger.find((one) => one.requestId === requestId)!
  const before = BigInt(entry.amountUsd.replace('.', ''))
  entry.amountUsd = `-${more}`
  owner.balanceUsd = owner.availableUsd = usd(BigInt(owner.balanceUsd.replace('.', '')) - before - 9999n)
}

function creditTwice(h: Broken): void {
  const owner = h.owner('own_birch')
  owner.ledger.splice(1, 0, { ...owner.ledger[1]!, id: 'led_x' })
  owner.balanceUsd = owner.availableUsd = usd(BigInt(owner.balanceUsd.replace('.', '')) + 1_000_000n)
}

function completeOtherwise(h: Broken): void {
  const { asked } = h.cancel('resumed')
  h.remove((event) => event === asked)
  h.editLast(h.answer('resumed', 1), (data) => (data.usage = Object.fromEntries(Object.entries(data.usage).toReversed())))
}

function putInHistory(h: Broken): void {
  const { message } = h.call('cancelled')
  const { requestId } = h.cancel('cancelled').asked
  const [question, answer] = h.conversation('max').messages
  const messages = [
    { ...question!, id: 'msg_x', content: message, requestId },
    { ...answer!, id: 'msg_y', requestId },
  ]
  h.events.push({ ...h.conversation('max'), id: 'conv_x', user: 'lee', messages })
}

/** Everywhere the same, so that only the model's output shows it. */
function swapPartial(h: Broken): void {
  const change = (content: string): string => content.replace('partial', 'portion')
  h.editAll('partial', (reply) => (reply.message.content = change(reply.message.content)))
  h.edit(h.cancel('partial').answer, (turn) => (turn.message.content = change(turn.message.content)))
  const stream = h.answer('partial').events!
  for (const event of stream) if (event.event === 'response.output_text.delta') event.data = change(event.data)
  const [, answer] = h.conversation('max').messages
  answer!.content = change(answer!.content)
}

function chargeCancelled(h: Broken): void {
  const owner = h.owner('own_amber')
  owner.ledger.push({ ...owner.ledger.at(-1)!, id: 'led_x', amountUsd: '-0.00000001', requestId: h.cancel('cancelled').asked.requestId })
  owner.balanceUsd = owner.availableUsd = usd(BigInt(owner.balanceUsd.replace('.', '')) - 1n)
}

function dropCharge(h: Broken): void {
  const owner = h.owner('own_amber')
  const at = owner.ledger.findIndex(({ requestId }) => requestId === h.cancel('partial').asked.requestId)
  const [entry] = owner.ledger.splice(at, 1)
  owner.balanceUsd = owner.availableUsd = usd(BigInt(owner.balanceUsd.replace('.', '')) - BigInt(entry!.amountUsd.replace('.', '')))
}

const usd = (units: bigint): string => `${units / 100_000_000n}.${(units % 100_000_000n).toString().padStart(8, '0')}`

/** The same everywhere, so that only the model's output shows it. */
function swapWords(h: Broken): void {
  const { content } = JSON.parse(h.answer('first').body!).message as Json
  const own = JSON.parse(h.answer('waiting', 1).body!).message.content as string
  h.editAll('waiting', (reply) => (reply.message.content = content))
  for (const message of h.conversation('hal').messages) if (message.content === own) message.content = content
}
