/** Mutants of what is sent to callers: event streams, their retries, clean text, IDs, times and pages. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const streamTest = 'spec/4-2-stream.test.ts'
const layerStream = 'spec/http-stream.test.ts'

export const streamMutants: Mutant[] = [
  {
    rule: 'stream.established',
    removes: 'nothing on the way may hold back or change the stream',
    edits: [edit('`${caching}, no-transform`', 'caching')],
    caughtBy: { file: streamTest, title: 'stream.established: sends created, deltas and completed with stream headers and no rate' },
  },
  {
    rule: 'stream.established',
    removes: 'created leaves before the model speaks',
    edits: [edit("this.#write(format.first || ':\\n\\n')", 'this.#pending = format.first')],
    caughtBy: { file: layerStream, title: 'stream.established: headers and response.created leave before any delta' },
    symptom: 'hang',
  },
  {
    rule: 'stream.established',
    removes: 'no stream is established before the admission',
    edits: [
      edit(
        "'/v1/agents/:agent_id/chat/stream', { schema: chatStreamSchema }, async (request, reply) => {\n",
        `'/v1/agents/:agent_id/chat/stream', { schema: chatStreamSchema }, async (request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: response.created\\ndata: {}\\n\\n')\n`,
      ),
    ],
    caughtBy: {
      file: 'spec/http-order.test.ts',
      title: 'rate.headers stream.established: a refused turn is not a stream and carries no rate limit headers',
    },
  },
  {
    rule: 'stream.after-delta',
    removes: 'nothing is generated again once a delta has left',
    edits: [edit('mayRetry: () => !steps.hasSaid,', 'mayRetry: () => true,')],
    caughtBy: { file: 'spec/model-faults.test.ts', title: 'stream.after-delta: a reply cut off by rst' },
  },
  {
    rule: 'stream.after-delta',
    removes: 'the retry asks whether it may',
    edits: [edit(' || !mayRetry()', '')],
    caughtBy: { file: 'unit/retry.test.ts', title: 'stream.after-delta: once text of the turn has been sent, nothing is generated again' },
  },
  {
    rule: 'stream.after-delta',
    removes: 'two retries and no more',
    edits: [edit('const maxRetries = 2', 'const maxRetries = 3', { at: 'stream.after-delta' })],
    caughtBy: { file: 'unit/retry.test.ts', title: 'stream.after-delta: an unavailable model is called again at most twice' },
  },
  {
    rule: 'stream.slow-reader',
    removes: 'deltas are dropped where too much is unsent',
    edits: [edit('const unsentLimitBytes = 262_144', 'const unsentLimitBytes = 2 ** 40')],
    caughtBy: { file: layerStream, title: 'fault.slow-reader stream.slow-reader: deltas are dropped over 256 KiB unsent' },
  },
  {
    rule: 'stream.slow-reader',
    removes: 'from the first dropped delta on all are dropped',
    edits: [edit('      this.#dropping = true\n', '', { at: 'stream.slow-reader' })],
    caughtBy: {
      file: layerStream,
      title: 'fault.slow-reader stream.slow-reader: after a dropped delta none follows, even when the reader has caught up',
    },
  },
  {
    rule: 'stream.slow-reader',
    removes: 'a reader who takes nothing is cut off',
    edits: [edit('unmovedMs >= stallMs || ')],
    caughtBy: {
      file: layerStream,
      title: 'fault.slow-reader stream.slow-reader: a reader that makes no progress is cut off in time, and the turn goes on',
    },
  },
  {
    rule: 'stream.slow-reader',
    removes: 'a reader who takes a part of a write at a time is not cut off',
    edits: [edit('before.whole !== taken.whole || before.left !== taken.left', 'before.whole !== taken.whole')],
    caughtBy: { file: layerStream, title: 'fault.slow-reader stream.slow-reader: a reader that makes progress is not cut off' },
  },
  {
    rule: 'text.well-formed',
    removes: 'what a model says is cleaned before it leaves',
    edits: [edit('emit(cleaner.push(text))', 'emit(text)')],
    caughtBy: {
      file: 'spec/model-answers.test.ts',
      title: "fault.model-text-hostile text.well-formed: whatever the model's text contains",
    },
  },
  {
    rule: 'text.well-formed',
    removes: 'a pair that is split over two pieces leaves whole',
    edits: [edit('const whole = endsInHalf(text) ? text.slice(0, -1) : text', 'const whole = text')],
    caughtBy: {
      file: 'unit/clean-text.test.ts',
      title: 'text.well-formed: a surrogate pair split over two pieces is sent whole, also around a NUL',
    },
  },
  {
    rule: 'paging',
    removes: 'the id decides among rows of one time',
    edits: [
      edit(
        'external_user_id is not null and message_count > 0 and (created_at, id) < ($2, $3)',
        'external_user_id is not null and message_count > 0 and created_at < $2 and $3 = $3',
      ),
    ],
    caughtBy: { file: 'store/conversations.test.ts', title: 'paging: every conversation and message once' },
  },
  {
    rule: 'paging',
    removes: 'a cursor that was not made here is refused',
    edits: [edit(' || encodeCursor(position) !== cursor', '')],
    caughtBy: { file: 'unit/paging.test.ts', title: 'paging: every position is read back from its cursor, and from no other text' },
  },
  {
    rule: 'paging',
    removes: 'the end of a list is reported',
    edits: [edit('last && rows.length > limit ? encodeCursor(last)', 'last ? encodeCursor(last)')],
    caughtBy: { file: 'unit/paging.test.ts', title: 'paging: one more row than the page size is read' },
  },
  {
    rule: 'clock',
    removes: 'records are dated by the clock of the store',
    edits: [edit('  const now = clock.now()\n', '  const now = Date.now()\n', { at: 'clock' })],
    caughtBy: {
      file: 'store/sqlite.test.ts',
      title: 'idempotency.lifetime clock: a record is kept for 24 hours from the end of its turn and a running one never',
    },
  },
  {
    rule: 'clock',
    removes: 'leases use a clock that cannot be set',
    edits: [edit('leaseNow: () => performance.timeOrigin + performance.now()', 'leaseNow: () => Date.now()')],
    caughtBy: { file: 'unit/clock.test.ts', title: 'clock: leases use the monotonic clock; records use the wall clock' },
  },
  {
    rule: 'time.format',
    removes: 'UTC with milliseconds and a Z',
    edits: [edit('new Date(epochMs).toISOString()', 'new Date(epochMs).toUTCString()', { at: 'time.format' })],
    caughtBy: { file: 'routes.test.ts', title: 'time.format: times of a listing are UTC with milliseconds and a Z' },
  },
  {
    rule: 'ids',
    removes: 'lower case',
    edits: [edit('ulid().toLowerCase()', 'ulid()', { at: 'ids' })],
    caughtBy: { file: 'unit/ids.test.ts', title: 'ids: a request id is a UUID, every other id its prefix' },
  },
  {
    rule: 'ids',
    removes: 'within a millisecond too each is greater than the one before',
    edits: [
      edit('const ulid = monotonicFactory(', 'const ulid = () => monotonicFactory('),
      edit('ulid().toLowerCase()', 'ulid()().toLowerCase()', { at: 'ids' }),
    ],
    caughtBy: { file: 'unit/ids.test.ts', title: 'ids: each is greater than the one before' },
  },
]
