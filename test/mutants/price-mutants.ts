/** Mutants of what a turn is charged: kinds of tokens, prices of tools, and the holds for both. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const unitLedger = 'unit/ledger.test.ts'
const kinds = 'unit/token-kinds.test.ts'
const spec = 'spec/tool-price.test.ts'

export const priceMutants: Mutant[] = [
  {
    rule: 'billing.token-kinds',
    removes: 'a cached token is charged at its own price alone',
    edits: [
      edit(
        'promptTokens - cachedPromptTokens - cacheWriteTokens) * promptPerMillion',
        'promptTokens - cacheWriteTokens) * promptPerMillion',
      ),
    ],
    caughtBy: { file: unitLedger, title: 'billing.token-kinds: a price that is not set is the prompt price' },
  },
  {
    rule: 'billing.token-kinds',
    removes: 'a price that is not set is the prompt price: it is zero',
    edits: [
      edit(
        'BigInt(cachedPromptTokens) * (cachedPromptPerMillion ?? promptPerMillion)',
        'BigInt(cachedPromptTokens) * (cachedPromptPerMillion ?? 0n)',
      ),
    ],
    caughtBy: { file: unitLedger, title: 'billing.token-kinds: a price that is not set is the prompt price' },
  },
  {
    rule: 'billing.token-kinds',
    removes: "Anthropic's cached tokens are part of its prompt tokens: its net count is taken as gross",
    edits: [edit('this.#promptExcludesCache ? base + cachedPromptTokens + cacheWriteTokens : base', 'base')],
    caughtBy: { file: kinds, title: 'billing.token-kinds: anthropic: a streamed answer has the same kinds' },
  },
  {
    rule: 'billing.token-kinds',
    removes: 'a negative count is impossible',
    edits: [edit('isCount(whole) ? whole : NaN', 'whole')],
    caughtBy: { file: kinds, title: 'billing.token-kinds: anthropic: impossible kinds are billed' },
  },
  {
    rule: 'billing.token-kinds',
    removes: 'a later report of a call never replaces a larger one',
    edits: [edit('Math.max(tokens, this.#merged[kind] ?? 0)', 'tokens')],
    caughtBy: { file: 'field/model-servers.test.ts', title: 'billing.token-kinds: reports of one call are merged' },
  },
  {
    rule: 'billing.token-kinds',
    removes: 'cached tokens beyond the prompt are impossible',
    edits: [edit('cachedPromptTokens + cacheWriteTokens <= promptTokens &&', '')],
    caughtBy: { file: kinds, title: 'billing.token-kinds: openai: impossible kinds are billed' },
  },
  {
    rule: 'billing.token-kinds',
    removes: 'reasoning beyond the completion is impossible',
    edits: [edit(' &&\n    reasoningTokens <= completionTokens', '')],
    caughtBy: { file: kinds, title: 'billing.token-kinds: openai: impossible kinds are billed' },
  },
  {
    rule: 'billing.token-kinds',
    removes: 'a turn with impossible kinds is marked',
    edits: [edit(' || answer.usageImpossible === true,', ',')],
    caughtBy: { file: 'spec/token-kinds.test.ts', title: 'billing.token-kinds: impossible kinds are billed at the undiscounted price' },
  },
  {
    rule: 'billing.hold',
    removes: 'a bound is at the dearest price of a prompt token',
    edits: [edit('BigInt(bound.promptTokens) * dearestPrompt(price)', 'BigInt(bound.promptTokens) * price.promptPerMillion')],
    caughtBy: { file: unitLedger, title: 'billing.hold: the bound covers the same tokens of any kinds' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'a call that was not answered costs nothing',
    edits: [edit('(answered && price > 0 ? { price } : {})', '(price > 0 ? { price } : {})')],
    caughtBy: { file: spec, title: 'billing.tool-price: a call without an answer is not charged' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'the calls of a step are held before they are made',
    edits: [edit('callsPrice > 0 ? spentBy(turn, spent) + BigInt(callsPrice) : 0n', '0n')],
    caughtBy: { file: spec, title: 'the calls of a step are held before any is made' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'calls that did not fit in the balance have not started',
    edits: [edit('    if (!isStored && (turn.neededHold > 0n || turn.exceeded)) turn.noteNotStarted(entries)\n')],
    caughtBy: { file: spec, title: 'the calls of a step are held before any is made' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'over-reported tokens do not use the hold of the tool calls',
    edits: [edit('larger(hold - toolCalls, boundCost(boundSoFar, price))', 'larger(hold, boundCost(boundSoFar, price))')],
    caughtBy: { file: 'unit/turn-writes.test.ts', title: 'billing.tool-price: tokens that a provider reported beyond their bound' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'a cancelled turn pays its finished calls',
    edits: [edit('return charge.toolCalls > 0n ?', 'return charge.toolCalls < 0n ?')],
    caughtBy: { file: spec, title: 'a turn that is cancelled before any text pays its finished calls' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'a call of the journal is charged: only those of this attempt are',
    edits: [edit('BigInt(toolCallsPrice)', 'admitted.journal.length > 0 ? 0n : BigInt(toolCallsPrice)', { at: 'billing.tool-price' })],
    caughtBy: { file: spec, title: 'billing.tool-price: a released turn that continues is charged for its calls once' },
  },
  {
    rule: 'billing.tool-price',
    removes: 'what the tool calls of a turn without a reply cost is unpaid',
    edits: [edit('return this.#costOf(this.#toolCallsOfRun)', 'return this.#costOf(0n)')],
    caughtBy: { file: spec, title: 'billing.tool-price: a turn that fails after priced calls charges nothing' },
  },
]
