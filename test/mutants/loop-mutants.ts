/**
 * Mutants of the loop of model and tools: when the journal is written, what is called twice, when the loop stops, and what becomes visible
 * outside.
 */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const crash = 'race/tools-crash-sqlite.test.ts'
const tools = 'spec/tools.test.ts'
const released = 'spec/tools-released.test.ts'

export const loopMutants: Mutant[] = [
  {
    rule: 'tools.journal',
    removes: 'a call with side effects is journaled before it is made',
    edits: [edit('...started.map(({ part }) => startedEntry(step, part))')],
    caughtBy: { file: crash, title: 'kill -9 at tool.after-call of a tool with side effects on sqlite' },
  },
  {
    rule: 'tools.journal',
    removes: 'a call whose process died is not made again where it has side effects',
    edits: [edit("    if (turn.callUnknown) return { kind: 'unusable', cause: outcomeUnknown, causeKind: 'tool_outcome_unknown' }\n")],
    caughtBy: { file: crash, title: 'kill -9 at tool.after-call of a tool with side effects on sqlite' },
  },
  {
    rule: 'tools.journal',
    removes: 'the end of a call with side effects is journaled as soon as it is there',
    edits: [edit('if (!sideEffects) return [entry]', 'return [entry]')],
    caughtBy: { file: crash, title: 'kill -9 at tool.after-journal of a tool with side effects on sqlite' },
  },
  {
    rule: 'tools.journal',
    removes: 'a step is journaled before its tools are called: it is asked again',
    edits: [
      edit('if (!(await beforeCalls(entries, price)))', 'if (started.length > 0 && !(await beforeCalls(entries, price)))'),
      edit("return { kind: 'finished', entries: left }", "return { kind: 'finished', entries: [modelEntry(step), ...left] }"),
    ],
    caughtBy: { file: crash, title: 'kill -9 at tool.after-call of a tool without on sqlite' },
  },
  {
    rule: 'tools.journal',
    removes: 'a call that is made again has the same key',
    edits: [edit('`${requestId}:${step}:${part}`', '`${requestId}:${step}:${part}:${Math.random()}`')],
    caughtBy: { file: crash, title: 'kill -9 at tool.after-call of a tool without on sqlite' },
  },
  {
    rule: 'tools.journal',
    removes: 'a turn is not released while the outcome of a call is unknown',
    edits: [
      edit("    if (turn.callUnknown && state !== 'failed') return fail(turn, 'failed', 'internal_error', withOutcomeUnknown(why))\n"),
    ],
    caughtBy: { file: released, title: 'tools.journal: a deadline during a call with side effects: the turn has failed' },
  },
  {
    rule: 'tools.journal',
    removes: 'a run that starts afresh counts its steps on',
    edits: [edit('?? this.#stepsBefore) + 1', '?? 0) + 1')],
    caughtBy: { file: released, title: 'tools.journal: a run that starts over gives no call the key of an earlier run' },
  },
  {
    rule: 'retry.continues',
    removes: 'the store records that a call with side effects has finished',
    edits: [edit('options.writeJournal([entry], true)', 'options.writeJournal([entry], false)')],
    caughtBy: { file: released, title: 'retry.continues: after a finished call with side effects, a retry continues from it' },
  },
  {
    rule: 'retry.continues',
    removes: 'what was said before the retry is heard on its stream',
    edits: [edit("if (undeliveredText !== '') request.onDelta(undeliveredText)")],
    caughtBy: { file: released, title: 'retry.continues: repeated retries keep counting steps' },
  },
  {
    rule: 'billing.hold',
    removes: 'the hold grows for a further step',
    edits: [edit('spentBy(turn, spent) + boundCost(bound, price)', '0n')],
    caughtBy: { file: tools, title: 'billing.hold: each further step is held before its model call' },
  },
  {
    rule: 'retry.continues',
    removes: 'what an earlier run has spent is held again',
    edits: [edit('larger(hold - toolCalls, boundCost(boundSoFar, price))', 'hold')],
    caughtBy: { file: released, title: 'retry.continues: what the earlier run has spent is held again' },
  },
  {
    rule: 'billing.hold',
    removes: 'the results of tools are part of what is held',
    edits: [edit("content: result?.text ?? ''", "content: (result?.text ?? '').slice(0, 100)")],
    caughtBy: { file: tools, title: 'billing.hold: each further step is held before its model call' },
  },
  {
    rule: 'tools.caps',
    removes: 'no more calls than the cap are made',
    edits: [edit('callsBefore + index >= maxToolCalls', 'callsBefore + index < 0')],
    caughtBy: { file: tools, title: 'fault.tool-calls-invalid tools.caps: a thousand calls at once: sixteen are made' },
  },
  {
    rule: 'tools.caps',
    removes: 'calls of earlier steps count',
    edits: [edit('callsBefore + index >= maxToolCalls', 'index >= maxToolCalls')],
    caughtBy: { file: tools, title: 'fault.tool-calls-invalid tools.caps: a model that never stops: eight steps, sixteen calls' },
  },
  {
    rule: 'tools.caps',
    removes: 'no more steps than the cap are made',
    edits: [edit('if (steps.count >= maxSteps)', 'if (steps.count > maxSteps)')],
    caughtBy: { file: tools, title: 'fault.tool-calls-invalid tools.caps: a model that never stops: eight steps, sixteen calls' },
  },
  {
    rule: 'turn.states',
    removes: 'a last step has text of its own',
    edits: [edit("if (step.text.length > 0) return { kind: 'reply'", "if (steps.text.length > 0) return { kind: 'reply'")],
    caughtBy: {
      file: tools,
      title: 'fault.model-reply-empty turn.states: a last step without text is an empty reply, whatever earlier steps said',
    },
  },
  {
    rule: 'tools.private',
    removes: 'the log says nothing of what a tool is asked',
    edits: [edit('tool: call.name, ms,', 'tool: call.name, given: call.arguments, ms,')],
    caughtBy: { file: 'race/tools-private.test.ts', title: 'tools.private' },
  },
  {
    rule: 'tools.private',
    removes: 'reasoning that only a closing mark ends is taken back',
    edits: [edit('this.#isLone(text.charAt(closing)) ? this.#closeLone(closing) : this.#show(closing)', 'this.#show(closing)')],
    caughtBy: { file: 'field/model-servers.test.ts', title: 'tools.private: reasoning that only a closing mark ends' },
  },
  {
    rule: 'tools.private',
    removes: 'a block of reasoning at the start of a text is never shown',
    edits: [edit('if (block) return this.#openBlock(block)', 'void block')],
    caughtBy: { file: 'field/model-servers.test.ts', title: 'tools.private: reasoning in any notation' },
  },
  {
    rule: 'turn.states',
    removes: 'a message that a content filter withheld is not sent to the model again',
    edits: [edit("return causeKind === 'filtered' ? 'unusable' : 'refused'", "return 'refused'")],
    caughtBy: { file: 'field/refusals.test.ts', title: 'turn.states: a filtered' },
  },
  {
    rule: 'tools.private',
    removes: 'the password of Basic authentication is removed from the answer of a tool',
    edits: [edit('  ...basicSecrets(headerValue),\n')],
    caughtBy: {
      file: 'tools-http.test.ts',
      title: 'tools.private: the password of Basic authentication is removed from results and errors, wherever it is set',
    },
  },
  {
    rule: 'tools.private',
    removes: 'the password of Basic authentication is removed from the answer of an MCP server',
    edits: [edit(', ...credentialsIn(value, minWord)')],
    caughtBy: {
      file: 'mcp-hostile.test.ts',
      title: 'tools.private: the password of Basic authentication is removed from a result and from an error',
    },
  },
  {
    rule: 'tools.bounds',
    removes: 'a passage cannot end its frame',
    edits: [edit("text.replace(/<(?=[\\s/]*passages)/gi, '(')", 'text')],
    caughtBy: { file: 'spec/tools-hostile.test.ts', title: 'tools.bounds: 22, closing tag' },
  },
  {
    rule: 'tools.bounds',
    removes: 'only tools of the agent are called',
    edits: [
      edit('if (toolbox.sideEffects(name) !== undefined) return undefined', 'return undefined'),
      edit('const tool = offered.get(name)\n        if', 'const tool = offered.get(name) ?? [...offered.values()][0]\n        if'),
    ],
    caughtBy: { file: 'spec/tools-hostile.test.ts', title: 'tools.bounds: 33, lookalike' },
  },
  {
    rule: 'tools.citations',
    removes: 'what the search tool found is cited',
    edits: [edit('[...passages, ...found]', 'passages')],
    caughtBy: {
      file: 'spec/citations.test.ts',
      title: 'tools.citations: passages of the prompt and of the search tool are stored once per',
    },
  },
  {
    rule: 'tools.citations',
    removes: 'a document and section are cited once',
    edits: [edit('if (!once.has(key)) once.set(key', 'once.set(`${once.size}`')],
    caughtBy: {
      file: 'spec/citations.test.ts',
      title: 'tools.citations: passages of the prompt and of the search tool are stored once per',
    },
  },
  {
    rule: 'history.fits',
    removes: 'a prompt that is too long is asked again with less history',
    edits: [edit("error.kind === 'too_long' &&", "error.kind === 'refused' &&")],
    caughtBy: { file: 'spec/history.test.ts', title: 'history.fits: when a model rejects the prompt as too long' },
  },
  {
    rule: 'history.fits',
    removes: 'the newer half is what is kept',
    edits: [edit('history.slice(-2 * kept)', 'history.slice(0, 2 * kept)')],
    caughtBy: { file: 'spec/history.test.ts', title: 'history.fits: when a model rejects the prompt as too long' },
  },
]
