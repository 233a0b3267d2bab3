/**
 * The values of the editor, with the field names of the API so that a failure finds its field, and what is sent: for a change only what
 * differs, for a new agent only what differs from the defaults. Pure.
 */
import type { UseFormReturnType } from '@mantine/form'
import type { Agent } from '../../../api/types.ts'
import { boundsOf } from '../../../api/agent-settings.ts'
import { shortAmount } from '../../../show/short-amount.ts'

/** While a person is typing, the text may not be a number yet. */
type Typed = number | string

export type AgentValues = {
  owner_id: string | null
  name: string
  system_prompt: string
  model: { provider: string; id: string }
  /** Empty cache prices: the prompt price. */
  price: TypedPrice
  max_output_tokens: Typed
  /** Empty: the model's default. */
  temperature: Typed
  max_steps: Typed
  max_tool_calls: Typed
  max_message_length: Typed
  /** Empty for a new agent: what fits the model's window, at most 8,000. */
  history: { max_tokens: Typed }
  knowledge: { max_tokens: Typed; top_k: Typed; embedding_model: string; language: string | null }
}

type TypedPrice = Record<keyof Agent['price'], string>

export type AgentForm = UseFormReturnType<AgentValues>

/** The name of the built-in model's provider, which has no row. */
export const builtInProvider = 'demo'

export const noPrice: TypedPrice = {
  prompt_usd_per_million: '',
  completion_usd_per_million: '',
  cached_prompt_usd_per_million: '',
  cache_write_usd_per_million: '',
}

export const newValues: AgentValues = {
  owner_id: null,
  name: '',
  system_prompt: '',
  model: { provider: '', id: '' },
  price: noPrice,
  max_output_tokens: boundsOf('max_output_tokens').initial,
  temperature: '',
  max_steps: boundsOf('max_steps').initial,
  max_tool_calls: boundsOf('max_tool_calls').initial,
  max_message_length: boundsOf('max_message_length').initial,
  history: { max_tokens: '' },
  knowledge: {
    max_tokens: boundsOf('knowledge.max_tokens').initial,
    top_k: boundsOf('knowledge.top_k').initial,
    embedding_model: '',
    language: null,
  },
}

export function valuesOf(agent: Agent): AgentValues {
  const { history, knowledge } = agent
  return {
    owner_id: agent.owner_id,
    name: agent.name,
    system_prompt: agent.system_prompt,
    model: splitModel(agent.model),
    price: shortPrice(agent.price),
    max_output_tokens: agent.max_output_tokens,
    temperature: agent.temperature ?? '',
    max_steps: agent.max_steps,
    max_tool_calls: agent.max_tool_calls,
    max_message_length: agent.max_message_length,
    history: { max_tokens: history.max_tokens },
    knowledge: { ...knowledge, embedding_model: knowledge.embedding_model ?? '' },
  }
}

/** Splits at the first slash, because model IDs may contain slashes. */
export function splitModel(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, slash), id: model.slice(slash + 1) }
}

export const joinModel = ({ provider, id }: AgentValues['model']): string => `${provider}/${id.trim()}`

export const shortPrice = (price: Agent['price'] | TypedPrice): TypedPrice => ({
  prompt_usd_per_million: shortAmount(price.prompt_usd_per_million.trim()),
  completion_usd_per_million: shortAmount(price.completion_usd_per_million.trim()),
  cached_prompt_usd_per_million: shortAmount((price.cached_prompt_usd_per_million ?? '').trim()),
  cache_write_usd_per_million: shortAmount((price.cache_write_usd_per_million ?? '').trim()),
})

/** In the API, `undefined` leaves the value to the server. */
function contentOf(values: AgentValues) {
  const { name, model, system_prompt, price, knowledge, temperature, history } = values
  const given = shortPrice(price)
  return {
    name: name.trim(),
    system_prompt,
    model: joinModel(model),
    price: Object.values(given).every((text) => text === '')
      ? undefined
      : {
          ...given,
          cached_prompt_usd_per_million: textOrNull(given.cached_prompt_usd_per_million),
          cache_write_usd_per_million: textOrNull(given.cache_write_usd_per_million),
        },
    max_output_tokens: Number(values.max_output_tokens),
    temperature: temperature === '' ? null : Number(temperature),
    max_steps: Number(values.max_steps),
    max_tool_calls: Number(values.max_tool_calls),
    max_message_length: Number(values.max_message_length),
    history: { max_tokens: history.max_tokens === '' ? undefined : Number(history.max_tokens) },
    knowledge: {
      max_tokens: Number(knowledge.max_tokens),
      top_k: Number(knowledge.top_k),
      embedding_model: knowledge.embedding_model.trim() === '' ? null : knowledge.embedding_model.trim(),
      language: knowledge.language,
    },
  }
}

const textOrNull = (text: string): string | null => (text === '' ? null : text)

const differs = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other)

const changedOf = <Fields extends Record<string, unknown>>(before: Fields, now: Fields): Partial<Fields> =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => differs(value, before[name]))) as Partial<Fields>

/** The paths of the fields, which are those of the API, except for the two parts of the model. */
export const fieldPaths = Object.entries(newValues).flatMap(([name, value]) =>
  typeof value === 'object' && value !== null ? Object.keys(value).map((inner) => `${name}.${inner}`) : [name],
)

/** The body of a PATCH; empty if nothing differs. Another model always includes the shown price, even if it is the same. */
export function changesOf(before: AgentValues, now: AgentValues): Record<string, unknown> {
  const { price, knowledge, ...rest } = contentOf(now)
  const { price: formerPrice, knowledge: formerKnowledge, ...previous } = contentOf(before)
  const inKnowledge = changedOf(formerKnowledge, knowledge)
  const takesPrice = price !== undefined && (differs(price, formerPrice) || rest.model !== previous.model)
  return {
    ...changedOf(previous, rest),
    ...(takesPrice ? { price } : {}),
    ...(Object.keys(inKnowledge).length > 0 ? { knowledge: inKnowledge } : {}),
  }
}

/** The saved values, with what was changed since `sent`. */
export function keepTyped(saved: AgentValues, sent: AgentValues, typed: AgentValues): AgentValues {
  const knowledge = { ...saved.knowledge, ...changedOf(sent.knowledge, typed.knowledge) }
  return { ...saved, ...changedOf(sent, typed), knowledge }
}

export function newAgentBody(values: AgentValues): Record<string, unknown> {
  const { name, system_prompt, model } = contentOf(values)
  return { ...changesOf(newValues, values), owner_id: values.owner_id, name, system_prompt, model }
}
