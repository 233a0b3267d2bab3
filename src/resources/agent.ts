/**
 * The settings of an agent: what a version has besides its price, its tools and its number. They are in the API as they are declared here. What
 * SQL reads is in columns of the version, and all others are in its JSON.
 */
import { fits, grouped, number, orNull, text, valueAt, whole } from './field.ts'
import type { Change, Fields, Resource } from './field.ts'

const model = {
  of: 'text',
  min: 0,
  max: 300,
  pattern: '^[^/\\s\\u0000-\\u001f\\p{Cs}]+/[^\\u0000-\\u001f\\p{Cs}]+$',
  as: 'the name of a provider, a slash and the ID of a model, such as openai/gpt-5.4-mini',
} as const

// The limits keep the largest hold below two million tokens, which at the highest price still fits a database column (ledger.ts): system
// prompt 200,000 (four bytes per code point) + tools 100,000 (agent-tools.ts) + history + knowledge + message 500,000 (largest body) + output.
// An initial value is that of new agents, and of versions from before the field was added, so it never changes.
export const agentFields = {
  name: { kind: text(1, 200), create: 'required', change: true, example: 'Support' },
  systemPrompt: {
    kind: text(0, 100_000),
    create: 'required',
    change: true,
    example: 'You answer questions about orders. Be brief.',
  },
  model: { kind: model, create: 'required', change: true, example: 'openai/gpt-5.4-mini' },
  /** `billing.hold` */
  maxOutputTokens: {
    kind: whole(1, 200_000),
    create: 'optional',
    change: true,
    initial: 2048,
    example: 2048,
  },
  /** Null: the default of the provider. */
  temperature: {
    kind: orNull(number(0, 2)),
    create: 'optional',
    change: true,
    initial: null,
    example: null,
  },
  /** Of model calls in one turn. A turn that has called tools seven times without a reply is going round in circles. */
  maxSteps: { kind: whole(1, 32), create: 'optional', change: true, initial: 8, example: 8 },
  /** In one turn. Twice the initial number of steps; a turn that needs more is usually looping (`fault.tool-calls-invalid`). */
  maxToolCalls: { kind: whole(0, 128), create: 'optional', change: true, initial: 16, example: 16 },
  /** Of a message, in code points (`order.validation`). */
  maxMessageLength: { kind: whole(1, 1_000_000), create: 'optional', change: true, initial: 32_000, example: 32_000 },
  /** About thirty exchanges of ordinary length, with a limited price. */
  'history.maxTokens': {
    kind: whole(0, 800_000),
    create: 'optional',
    change: true,
    initial: 8000,
    asks: 'Default: 8,000, or less if the known context window of the model is too small for that.',
    example: 8000,
  },
  /** Of the passages in a prompt. */
  'knowledge.maxTokens': { kind: whole(0, 100_000), create: 'optional', change: true, initial: 1500, example: 1500 },
  /** Passages in a prompt. */
  'knowledge.topK': { kind: whole(0, 50), key: 'topK', create: 'optional', change: true, initial: 6, example: 6 },
  'knowledge.embeddingModel': {
    kind: orNull(model),
    key: 'embeddingModel',
    create: 'optional',
    change: true,
    initial: null,
    says: 'Null: keyword search only.',
    asks: '"<provider name>/<model id>" to also search by meaning, or null to search by keywords only.',
    example: null,
  },
  'knowledge.language': {
    kind: orNull(text(1, 40)),
    key: 'language',
    create: 'optional',
    change: true,
    initial: null,
    asks: 'Language of the documents, so that a search for "ship" also finds "shipping". null: english. "none": only exact words.',
    example: null,
  },
} as const satisfies Fields

export type AgentSettings = Resource<typeof agentFields>
export type AgentSettingsChange = Change<typeof agentFields>

/** What a rerun or a preview may change, and a trace shows. */
export const overrideFields = {
  systemPrompt: agentFields.systemPrompt,
  model: agentFields.model,
  temperature: agentFields.temperature,
  maxOutputTokens: agentFields.maxOutputTokens,
} as const
export type AgentOverrides = Change<typeof overrideFields>

/** Those with a column: the admission computes the hold of a turn from them (`billing.hold`), and lists show them. */
const columns = {
  name: 'name',
  model: 'model',
  maxOutputTokens: 'maxOutputTokens',
  maxMessageLength: 'maxMessageLength',
  'history.maxTokens': 'historyMaxTokens',
  'knowledge.maxTokens': 'knowledgeMaxTokens',
} as const
type Columns = {
  [Name in keyof typeof columns as (typeof columns)[Name]]: Name extends 'name' | 'model' ? string : number
}

const columnOf = (name: string): keyof Columns | undefined => (columns as Record<string, keyof Columns | undefined>)[name]
const keyOf = (name: string): string => (agentFields as Fields)[name]?.key ?? name

/** Reads the settings of a version whose `config` has been parsed to `rest`. Undefined if one of them is not of its kind. */
export function readSettings(version: Columns, rest: Record<string, unknown>): AgentSettings | undefined {
  const entries = Object.entries<Fields[string]>(agentFields).map(([name, { kind, initial }]) => {
    const column = columnOf(name)
    const stored = column ? version[column] : rest[keyOf(name)]
    return { name, kind, value: stored === undefined ? initial : stored }
  })
  if (!entries.every(({ kind, value }) => fits(kind, value))) return undefined
  return grouped(entries.map(({ name, value }) => [name, value])) as AgentSettings
}

/** What a version stores of its settings: its columns, and the rest for its JSON. */
export function writeSettings(settings: AgentSettings): { columns: Columns; rest: Record<string, unknown> } {
  const names = Object.keys(agentFields)
  const [own, others] = [names.filter((name) => columnOf(name)), names.filter((name) => !columnOf(name))]
  return {
    columns: Object.fromEntries(own.map((name) => [columnOf(name)!, valueAt(settings, name)])) as Columns,
    rest: Object.fromEntries(others.map((name) => [keyOf(name), valueAt(settings, name)])),
  }
}
