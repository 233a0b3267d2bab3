/** Mutants of traces and reruns: what a trace must contain and lose, where the trace context goes, and what a rerun must not do. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const tracesTest = 'spec/traces.test.ts'
const contextTest = 'spec/trace-context.test.ts'
const unitTest = 'unit/trace.test.ts'
const sentOn = 'trace.context: HTTP tools, MCP servers and the model get the header unchanged'

export const traceMutants: Mutant[] = [
  {
    rule: 'trace.stored',
    removes: 'a run without a reply has a trace',
    edits: [
      edit(
        'EncodedTrace | null => trace?.encode(admitted.hold, false) ?? null',
        'EncodedTrace | null => (trace && admitted.run < 0 ? trace.encode(admitted.hold, false) : null)',
      ),
    ],
    caughtBy: { file: tracesTest, title: 'a refused key: the words of the provider are in the trace' },
  },
  {
    rule: 'trace.stored',
    removes: 'the text of a call that broke off',
    edits: [edit("    if (text !== '') call.text = text\n")],
    caughtBy: { file: tracesTest, title: 'the text of a call that broke off is stored nowhere else' },
  },
  {
    rule: 'trace.stored',
    removes: 'a reply is stored once',
    edits: [edit('return isEndOfReply && call.text !== null ? { ...call, text: null } : call', 'return call')],
    caughtBy: { file: tracesTest, title: 'a cancelled turn: the call was stopped, and its text is the reply' },
  },
  {
    rule: 'trace.stored',
    removes: 'the history of an earlier run is that of its time',
    edits: [edit('and seq % 2 = 0 and created_at <= $2 and', 'and seq % 2 = 0 and created_at + $2 > 0 and')],
    caughtBy: { file: tracesTest, title: 'a released turn that is sent again has two runs' },
  },
  {
    rule: 'trace.stored',
    removes: 'a trace has a maximum size',
    edits: [edit('isTooLong(json) && budget >= 1', 'isTooLong(json) && budget < 0')],
    caughtBy: { file: unitTest, title: 'trace.stored: a trace has a maximum size' },
    symptom: 'throws',
  },
  {
    rule: 'trace.stored',
    removes: 'old traces are deleted',
    edits: [edit('where request_id < $1 order', 'where request_id > $1 order')],
    caughtBy: { file: tracesTest, title: 'traces are deleted when they are older than the setting' },
  },
  {
    rule: 'trace.stored',
    removes: 'traces can be turned off',
    edits: [edit('traces: config.traceDays > 0', 'traces: true')],
    caughtBy: { file: tracesTest, title: 'TURNKEEP_TRACE_DAYS=0: nothing is recorded' },
  },
  {
    rule: 'trace.stored',
    removes: 'traces are erased with their end user',
    edits: [edit("['journal', 'traces', 'feedback']", "['journal', 'feedback']")],
    caughtBy: { file: tracesTest, title: 'the trace is erased with the end user' },
  },
  {
    rule: 'trace.context',
    removes: 'HTTP tools get the header',
    edits: [edit(', ...(traceparent ? { traceparent } : {})', '', { at: 'trace.context' })],
    caughtBy: { file: contextTest, title: sentOn },
  },
  {
    rule: 'trace.context',
    removes: 'model servers get the header',
    edits: [edit('traceparent ? { ...headers, traceparent } : headers', 'headers')],
    caughtBy: { file: contextTest, title: sentOn },
  },
  {
    rule: 'trace.context',
    removes: 'no other origin gets the header',
    edits: [edit("'content-type', 'idempotency-key']", "'content-type', 'idempotency-key', 'traceparent']")],
    caughtBy: { file: contextTest, title: 'a server that the guard refuses gets no request, and another origin no header' },
  },
  {
    rule: 'rerun.harmless',
    removes: 'a rerun with a model of an unknown provider is refused',
    edits: [
      edit(
        "await refuseUnknownProvider(options, overrides.model ?? context.config.model, overrides.model === undefined ? null : 'overrides.model')\n",
      ),
    ],
    caughtBy: { file: 'spec/reruns.test.ts', title: 'rerun.harmless: a failure of the model is part of the result' },
  },
  {
    rule: 'rerun.harmless',
    removes: 'a rerun makes no call with side effects',
    edits: [edit(' ?? (unstored && sideEffects ? notUnstored : undefined)')],
    caughtBy: { file: 'spec/reruns.test.ts', title: 'a call with side effects is not made; nothing is stored' },
  },
  {
    rule: 'rerun.harmless',
    removes: 'a rerun ends when the server stops',
    edits: [edit('[closing, deadline, left]', '[deadline, left]')],
    caughtBy: { file: 'spec/reruns.test.ts', title: 'a rerun has the deadline of a turn, and ends when the server stops' },
  },
  {
    rule: 'rerun.harmless',
    removes: 'a preview ends when its caller disconnects',
    edits: [edit('[closing, deadline, left]', '[closing, deadline]')],
    caughtBy: { file: 'spec/previews.test.ts', title: 'a preview as text/event-stream ends when its caller disconnects' },
  },
]
