/** Mutants of the turn resource: status, streams that continue, background turns, cancels and feedback. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const resource = 'spec/turn-resource.test.ts'
const lost = 'spec/lost-response.test.ts'
const cancels = 'race/cancel.test.ts'
const suite = 'store/sqlite.test.ts'
const finishes = 'field/finish-reasons.test.ts'

export const turnMutants: Mutant[] = [
  {
    rule: 'idempotency.in-progress',
    removes: 'a refused retry leads to its turn',
    edits: [edit('return blockedBy === undefined ? result : { ...result, blockedBy }', 'return result')],
    caughtBy: { file: lost, title: 'idempotency.in-progress: the 409 has the request ID of the turn' },
  },
  {
    rule: 'idempotency.in-progress',
    removes: 'the error has the request ID of the turn',
    edits: [edit("...(code === 'idempotency_in_progress' ? { requestId: blockedBy } : {}),", '')],
    caughtBy: { file: lost, title: 'idempotency.in-progress: the 409 has the request ID of the turn' },
  },
  {
    rule: 'conversation.busy',
    removes: 'the address is that of a turn of the same API key',
    edits: [
      edit(
        'where c.api_key_id = $1 and c.external_user_id = $2 and t.api_key_id = $1',
        'where c.api_key_id <> $1 and c.external_user_id = $2',
      ),
    ],
    caughtBy: { file: lost, title: 'conversation.busy: the 409 has the location' },
  },
  {
    rule: 'turn.resource',
    removes: 'an Idempotency-Key finds only turns of its API key',
    edits: [
      edit(
        'where t.api_key_id = $1 and t.idempotency_key = $2 and t.erased_at is null',
        'where t.api_key_id <> $1 and t.idempotency_key = $2 and t.erased_at is null',
      ),
    ],
    caughtBy: { file: lost, title: 'turn.resource: the turn of an Idempotency-Key of another API key' },
  },
  {
    rule: 'turn.resource',
    removes: 'an Idempotency-Key does not find an erased turn',
    edits: [
      edit(
        'where t.api_key_id = $1 and t.idempotency_key = $2 and t.erased_at is null',
        'where t.api_key_id = $1 and t.idempotency_key = $2',
      ),
    ],
    caughtBy: { file: lost, title: 'turn.resource: the turn of an Idempotency-Key of another API key' },
  },
  {
    rule: 'turn.resource',
    removes: 'an expired Idempotency-Key finds nothing',
    edits: [edit('status.endedAt + recordLifetimeMs <= (await sql.now()) ? undefined : status', 'status.endedAt < 0 ? undefined : status')],
    caughtBy: { file: lost, title: 'turn.resource: the turn of an Idempotency-Key of another API key' },
  },
  {
    rule: 'turn.resource',
    removes: 'a key that the server made finds nothing',
    edits: [
      edit(
        "if (/\\p{Cc}/u.test(idempotencyKey)) throw invalid('idempotency_key', 'idempotency_key must not contain control characters.')",
        '',
      ),
    ],
    caughtBy: { file: lost, title: 'turn.resource: without exactly one idempotency_key' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'the usage of a cancelled turn is in its event',
    edits: [edit("usage && (completed || status === 'cancelled')", 'usage && completed')],
    caughtBy: { file: 'spec/tool-price.test.ts', title: 'billing.tool-price turn.cancel: a turn that is cancelled before any text' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'the usage of a cancelled turn is in the turn resource',
    edits: [
      edit("usage: row['charged'] === null ? null : readUsage(row)", "usage: state !== 'completed' ? null : readUsage(row)", {
        at: 'billing.tool-price-2',
      }),
    ],
    caughtBy: { file: 'spec/tool-price.test.ts', title: 'billing.tool-price turn.cancel: a turn that is cancelled before any text' },
  },
  {
    rule: 'turn.resource',
    removes: 'a key sees only the turns that it started',
    edits: [edit('and (cast($2 as text) is null or t.api_key_id = $2)', 'and ($2 is null or t.api_key_id is not null)')],
    caughtBy: { file: resource, title: 'turn.resource: a key sees only the turns that it started' },
  },
  {
    rule: 'turn.resource',
    removes: 'an erased turn is not found',
    edits: [edit('where t.request_id = $1 and t.erased_at is null and', 'where t.request_id = $1 and')],
    caughtBy: { file: suite, title: 'turn.resource: a turn is found with its end by its key alone' },
  },
  {
    rule: 'turn.background',
    removes: 'the caller does not wait for the reply',
    edits: [
      edit(
        "    if (started.kind === 'running' && prefersAsync(request.raw)) {\n",
        "    if (started.kind === 'running' && prefersAsync(request.raw)) {\n      await started.turn.end\n",
      ),
    ],
    caughtBy: { file: resource, title: 'turn.background: with Prefer: respond-async' },
    symptom: 'hang',
  },
  {
    rule: 'turn.background',
    removes: 'the response says that the turn was only admitted',
    edits: [edit('    .code(202)\n', '', { at: 'turn.background' })],
    caughtBy: { file: resource, title: 'turn.background: with Prefer: respond-async' },
  },
  {
    rule: 'stream.resume',
    removes: 'a repeated POST continues after the event that the client has',
    edits: [
      edit('if (after === undefined) return sendBeginResult(', 'if (after === undefined || message !== "") return sendBeginResult(', {
        at: 'stream.resume',
      }),
    ],
    caughtBy: {
      file: 'field/event-clients.test.ts',
      title: 'stream.resume: a POST that is repeated with the ID of any event gets the rest',
    },
  },
  {
    rule: 'stream.resume',
    removes: 'the text before a position is compared',
    edits: [edit('if (crc32(this.#text.slice(0, offset)) !== reader.position.checksum)', 'if (reader.position.checksum < 0)')],
    caughtBy: { file: 'unit/turn-text.test.ts', title: 'stream.resume: a client that reconnects after any event, to any attempt' },
  },
  {
    rule: 'stream.resume',
    removes: 'text that was received is not sent again',
    edits: [edit('this.#say(listener, reader, this.#text.slice(offset))', 'this.#say(listener, reader, this.#text)')],
    caughtBy: { file: 'unit/turn-text.test.ts', title: 'stream.resume: a client that reconnects after any event, to any attempt' },
  },
  {
    rule: 'stream.resume',
    removes: 'a client that waits for a shorter text gets it when the turn has ended',
    edits: [edit('      if (!reader.verified) this.#restart(listener, reader)\n')],
    caughtBy: { file: 'unit/turn-text.test.ts', title: 'stream.resume: a client that reconnects after any event, to any attempt' },
  },
  {
    rule: 'turn.cancel',
    removes: 'text that was generated is the reply',
    edits: [
      edit(
        '    if (generated.text.length > 0 && !turn.callUnknown) return settle(turn, generated, { incomplete: true, finishReason: null })\n',
      ),
    ],
    caughtBy: { file: resource, title: 'turn.cancel: after text, the text so far is the reply' },
  },
  {
    rule: 'turn.cancel',
    removes: 'a running tool call with side effects is not abandoned',
    edits: [
      edit(
        "    if (reason !== 'cancel' || !this.callUnknown) this.#abort(this.#stopReason ?? reason)",
        '    this.#abort(this.#stopReason ?? reason)',
      ),
    ],
    caughtBy: { file: cancels, title: 'a running tool call with side effects is finished and journaled before the turn ends' },
  },
  {
    rule: 'turn.cancel',
    removes: 'a turn that is recovered after the request calls no model',
    edits: [edit("    if (turn.admitted.cancelRequested) turn.stop('cancel')\n")],
    caughtBy: { file: cancels, title: 'kill -9 after a cancel was stored: recovery ends the turn as cancelled' },
  },
  {
    rule: 'turn.cancel',
    removes: 'a request that another process has stored is noticed',
    edits: [edit('        await cancelRequested()\n', '', { at: 'turn.cancel' })],
    caughtBy: { file: cancels, title: 'turn.cancel: a cancel that another process has stored reaches the process' },
  },
  {
    rule: 'turn.cancel',
    removes: 'only a turn that runs can be cancelled',
    edits: [edit("where request_id = $2 and state = 'running' returning run`", 'where request_id = $2 returning run`')],
    caughtBy: { file: suite, title: 'turn.cancel: a cancel is stored only while the turn runs' },
  },
  {
    rule: 'turn.cancel',
    removes: 'the store refuses a cancel that was not requested',
    edits: [
      edit(
        "constraint cancelled_was_requested check (cancel_requested_at is not null or (state <> 'cancelled' and incomplete = 0))",
        'constraint cancelled_was_requested check (true)',
        { within: 'src/store/sqlite/' },
      ),
    ],
    caughtBy: { file: suite, title: 'turn.cancel: the store refuses a cancel or an incomplete reply that was not requested' },
  },
  {
    rule: 'feedback',
    removes: 'a turn that still runs has no feedback',
    edits: [edit("and erased_at is null and state <> 'running')", 'and erased_at is null)')],
    caughtBy: { file: suite, title: 'feedback: the last one counts, of this key and an ended turn only' },
  },
  {
    rule: 'feedback',
    removes: 'an operator gives feedback on turns of every key',
    edits: [edit('(cast($2 as text) is null or api_key_id = $2)', 'api_key_id = $2')],
    caughtBy: { file: suite, title: 'feedback: an operator sets it on a turn of any key, and removes it' },
  },
  {
    rule: 'feedback',
    removes: 'the audit log has no comment',
    edits: [edit("'feedback.comment': withheld(comment)", "'feedback.comment': comment")],
    caughtBy: { file: suite, title: 'feedback: an operator sets it on a turn of any key, and removes it' },
  },
  {
    rule: 'feedback',
    removes: 'the same feedback again changes nothing',
    edits: [edit('where feedback.rating <> excluded.rating or', 'where 1 = 1 or')],
    caughtBy: { file: suite, title: 'feedback: an operator sets it on a turn of any key, and removes it' },
  },
  {
    rule: 'feedback',
    removes: 'an erasure removes feedback',
    edits: [edit("for (const table of ['journal', 'traces', 'feedback'])", "for (const table of ['journal', 'traces'])")],
    caughtBy: { file: suite, title: 'feedback: the last one counts, of this key and an ended turn only' },
  },
  {
    rule: 'turn.finish-reason',
    removes: 'a reply at the token limit is cut off',
    edits: [edit("incomplete || finishReason === 'length' || finishReason === 'filtered'", "incomplete || finishReason === 'filtered'")],
    caughtBy: { file: finishes, title: 'turn.finish-reason: every endpoint says why the reply ended' },
  },
  {
    rule: 'turn.finish-reason',
    removes: 'the end of the last answer is that of the reply',
    edits: [
      edit(
        "(reason === 'tool_calls' || reason === 'other' ? 'stop' : reason)",
        "(reason === 'tool_calls' || reason === 'other' ? 'stop' : 'stop')",
      ),
    ],
    caughtBy: { file: finishes, title: 'turn.finish-reason: every endpoint says why the reply ended' },
  },
  {
    rule: 'turn.finish-reason',
    removes: 'a replay on SQLite has the stored reason',
    edits: [
      edit(
        'finishReason: row.finish_reason as ReplyFinishReason | null,',
        'finishReason: row.finish_reason === null ? null : ("stop" as ReplyFinishReason),',
      ),
    ],
    caughtBy: { file: suite, title: 'turn.finish-reason: is stored with the reply' },
  },
  {
    rule: 'turn.finish-reason',
    removes: 'a replay on PostgreSQL has the stored reason',
    edits: [edit("'r.charged, r.incomplete, r.finish_reason, '", "'r.charged, r.incomplete, null::text as finish_reason, '")],
    caughtBy: { file: 'store/postgres.test.ts', title: 'postgres: turn.finish-reason: is stored with the reply' },
  },
  {
    rule: 'turn.finish-reason',
    removes: 'a filter has its own reason in the OpenAI format',
    edits: [
      edit(
        "reply.finishReason === 'filtered' ? 'content_filter' : isCutOff(reply) ? 'length' : 'stop'",
        "reply.finishReason === null ? 'content_filter' : isCutOff(reply) ? 'length' : 'stop'",
      ),
    ],
    caughtBy: { file: finishes, title: 'turn.finish-reason: every endpoint says why the reply ended' },
  },
  {
    rule: 'turn.finish-reason',
    removes: 'only the reply in the list of messages is incomplete',
    edits: [edit("cutOff: row['role'] === 'assistant' && isCutOff(readEnd(row)),", 'cutOff: isCutOff(readEnd(row)),')],
    caughtBy: { file: finishes, title: 'turn.finish-reason: every endpoint says why the reply ended' },
  },
]
