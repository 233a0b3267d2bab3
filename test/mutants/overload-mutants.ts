/** Mutants of overload protection: who gets a slot, what waits, and that every slot is released. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const flood = 'overload.queue: the queue is bounded: the rest of a flood is refused immediately'

export const overloadMutants: Mutant[] = [
  {
    rule: 'overload.places',
    removes: 'an owner leaves something for others',
    edits: [edit('return occupied < timesFree * (this.free - 1)', 'return this.free > 0')],
    caughtBy: {
      file: 'unit/concurrency-limiter.test.ts',
      title: 'overload.places: two flooding owners get nearly half each, ten nearly a tenth',
    },
  },
  {
    rule: 'overload.places',
    removes: 'the last slot is for an owner that holds none',
    edits: [edit('timesFree * (this.free - 1)', 'timesFree * this.free')],
    caughtBy: {
      file: 'unit/concurrency-limiter.test.ts',
      title: 'overload.places: an owner takes nine tenths of the slots, also when it is alone',
    },
  },
  {
    rule: 'overload.places',
    removes: 'the end of a turn gives its place back',
    edits: [edit('      release()\n', '', { at: 'overload.places' })],
    caughtBy: { file: 'unit/overload.test.ts', title: 'overload.places: a slot is released by every end of an admission and of a turn' },
  },
  {
    rule: 'overload.places',
    removes: 'a refused admission gives its place back',
    edits: [edit('      if (!isRunning) release()\n')],
    caughtBy: { file: 'unit/overload.test.ts', title: 'overload.places: a slot is released by every end of an admission and of a turn' },
  },
  {
    rule: 'overload.queue',
    removes: 'the bound of those who ask for what is stored',
    edits: [edit('slot ?? lookUps.take(request.shareOf)', 'slot ?? lookUps.takeAnyway()')],
    caughtBy: { file: 'unit/overload.test.ts', title: flood },
  },
  {
    rule: 'overload.queue',
    removes: 'a full process answers what is stored',
    edits: [edit('slot ?? lookUps.take(request.shareOf)', 'slot')],
    caughtBy: { file: 'spec/overload.test.ts', title: 'overload.queue: a flood at a full process is 503 with Retry-After' },
  },
  {
    rule: 'overload.queue',
    removes: 'owners take turns where more wait than a batch holds',
    edits: [edit('fitTogether ? this.#waiting : byTurns(this.#waiting)', 'this.#waiting')],
    caughtBy: { file: 'unit/batcher.test.ts', title: 'overload.queue: if more items wait than a batch holds, owners take turns' },
  },
  {
    rule: 'overload.starts',
    removes: 'a sender has a budget in each round of the event loop',
    edits: [edit('return now - own.startedAt < budgetMs', 'return true')],
    caughtBy: {
      file: 'unit/fair-start.test.ts',
      title: 'overload.starts: of many requests of one sender that arrive together one starts in each round',
    },
  },
  {
    rule: 'overload.starts',
    removes: 'a sender that waits keeps its order',
    edits: [
      edit('if (own.waiting.length === 0 && this.#mayStart(own))', 'if (this.#mayStart(own))'),
      edit('own.waiting.shift()!()', 'own.waiting.pop()!()'),
    ],
    caughtBy: { file: 'unit/fair-start.test.ts', title: 'overload.starts: a sender that waits keeps its order' },
  },
  {
    rule: 'overload.follows',
    removes: 'many listeners are served in parts',
    edits: [edit('if (this.#readers.size > servedAtOnce)', 'if (this.#readers.size < 0)')],
    caughtBy: { file: 'unit/turn-text.test.ts', title: 'overload.follows: many listeners are served in parts' },
  },
  {
    rule: 'overload.follows',
    removes: 'a listener has all of the text before the end',
    edits: [edit('    else this.#text.catchUp()\n    this.#ended = true\n', '    this.#ended = true\n')],
    caughtBy: {
      file: 'unit/turn-text.test.ts',
      title: 'overload.follows: many listeners of a turn that fails have all of its text',
    },
  },
  {
    rule: 'overload.downloads',
    removes: 'senders take turns',
    edits: [edit('writes.push(() => reader.next(), sender)', 'writes.push(() => reader.next())')],
    caughtBy: { file: 'unit/downloads.test.ts', title: 'overload.downloads: one part is written at a time, and senders take turns' },
  },
  {
    rule: 'overload.downloads',
    removes: 'all rest after a part',
    edits: [edit('    await delay(performance.now() - startedAt)\n')],
    caughtBy: { file: 'unit/downloads.test.ts', title: 'overload.downloads: after a part, all rest for as long as it took' },
  },
  {
    rule: 'overload.bodies',
    removes: 'a body is refused before the rest of it arrives',
    edits: [edit('if (!problem && !shape.add(bytes).isBeyond) return', 'shape.add(bytes)\n      if (!problem) return')],
    caughtBy: {
      file: 'spec/http-body-cost.test.ts',
      title: 'overload.bodies: on every route, a body is refused at its first value beyond the bound',
    },
  },
  {
    rule: 'overload.unread',
    removes: 'a stream whose end is refused ends with an error event',
    edits: [edit("this.#pending + this.#format.refused(new ApiError('service_unavailable'))", 'this.#pending')],
    caughtBy: { file: 'spec/unread-responses.test.ts', title: 'overload.unread: a reply on /chat, and the end of a stream' },
  },
  {
    rule: 'overload.unread',
    removes: 'a page of messages is limited by bytes',
    edits: [edit('> maxBytes && index > 0', '> maxBytes && index < 0')],
    caughtBy: { file: 'store/conversations.test.ts', title: 'paging overload.unread: a page of messages has at most 2 MiB of JSON' },
  },
  {
    rule: 'overload.unread',
    removes: 'the steps of a reply count toward the page that the operator reads',
    edits: [edit('select sum(octet_length(j.payload))', 'select sum(0)')],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'overload.unread: the steps and citations of the messages count toward' },
  },
  {
    rule: 'overload.unread',
    removes: 'two pages are read at a time',
    edits: [edit('maxBytes / atATime', '0 / atATime')],
    caughtBy: { file: 'store/conversations.test.ts', title: 'overload.unread: pages of messages are read two at a time' },
  },
  {
    rule: 'overload.reads',
    removes: 'owners take turns',
    edits: [
      edit('this.#batcher.push({ place: ++this.#pushed, read }, shareOf)', "this.#batcher.push({ place: ++this.#pushed, read }, '')"),
    ],
    caughtBy: { file: 'unit/read-queue.test.ts', title: 'overload.reads: two reads run at a time, and owners take turns' },
  },
  {
    rule: 'overload.reads',
    removes: 'the reads that wait do not each wait for a store that does not answer',
    edits: [edit('    if (this.#away && place <= this.#away.place) throw this.#away.error\n')],
    caughtBy: { file: 'unit/read-queue.test.ts', title: 'overload.reads: those that wait for a store that does not answer fail' },
  },
  {
    rule: 'overload.unread',
    removes: 'owners take turns where more bytes wait than a batch holds',
    edits: [edit(' && this.#waiting.reduce((sum, one) => sum + one.bytes, 0) <= maxBytes')],
    caughtBy: {
      file: 'store/conversations.test.ts',
      title: 'overload.unread: pages of messages are read two at a time, owners take turns',
    },
  },
  {
    rule: 'overload.unread',
    removes: 'an API key has a limit of unread bytes',
    edits: [edit('held + more <= this.#maxOfOne', 'held + more > this.#maxOfOne')],
    caughtBy: { file: 'spec/unread-responses.test.ts', title: 'overload.unread rate.headers: a key with 8 MiB unread gets 503' },
  },
  {
    rule: 'overload.unread',
    removes: 'the end of a stream counts',
    edits: [edit('const isTaken = this.#unread.take(this.#response, Buffer.byteLength(whole))', 'const isTaken = true')],
    caughtBy: { file: 'spec/unread-responses.test.ts', title: 'overload.unread: a reply on /chat, and the end of a stream, count' },
  },
  {
    rule: 'overload.unread',
    removes: 'a JSON response that is not read is cut off',
    edits: [edit('    if (isLarge) setImmediate(cutOffWhenStalled(reply.raw, times))\n')],
    caughtBy: { file: 'spec/unread-responses.test.ts', title: 'fault.slow-reader overload.unread: a page that is not read is cut off' },
  },
  {
    rule: 'overload.unread',
    removes: 'the rest of a response has a minimum rate',
    edits: [edit(' || (leftMs !== undefined && leftMs <= 0)')],
    caughtBy: { file: 'spec/unread-responses.test.ts', title: 'fault.slow-reader overload.unread: a page that is not read is cut off' },
  },
]
