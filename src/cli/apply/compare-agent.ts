/**
 * Compares a declared agent with the stored one: which fields differ, and the request body that updates them. Compares values as the server
 * normalizes them.
 */
import { agentFields } from '../../resources/agent.ts'
import { nameOf, partsOf } from '../../resources/field.ts'
import type { Field } from '../../resources/field.ts'
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { compareTools } from './compare-tools.ts'
import type { Secrets } from './compare-tools.ts'
import type { WantedAgent } from './declaration.ts'
import { compare, writeUsd } from './item.ts'
import type { Differences } from './item.ts'

export type ComparedAgent = { fields: Differences; body: Fields; uncompared: number }
/** Names of providers: on the server, in the declaration, and those whose models have no known price. */
export type ProviderNames = { there: string[]; declared: string[]; priceless: string[] }

type Options = {
  client: AdminClient
  secrets: Secrets
  providers: ProviderNames
}

/** The settings by their names in the API, those of a group together. */
const names = Object.entries<Field>(agentFields).map(([name, field]) => partsOf(nameOf(name, field)))
// The prompt is last, because a plan shows its lines.
const plain = names.flatMap(([name, inner]) => (inner === undefined && name !== 'system_prompt' ? [name] : [])).concat('system_prompt')
const groups = Map.groupBy(
  names.filter(([, inner]) => inner !== undefined),
  ([group]) => group,
)

/** If `stored` is undefined, the agent is new and `body` has all fields. Throws CommandFailed if the server cannot return a price. */
export async function compareAgent(wanted: WantedAgent, stored: Fields | undefined, options: Options): Promise<ComparedAgent> {
  const { secrets, providers } = options
  const fields: Differences = {}
  const body: Fields = {}
  if (!stored)
    for (const field of ['model', 'system_prompt'] as const)
      if (wanted[field] === undefined) secrets.problems.add(wanted.place, `the new agent ${wanted.name} requires a ${field}`)

  const given: Fields = { ...wanted }
  for (const name of plain) if (compare(fields, name, stored?.[name], given[name])) body[name] = given[name]
  for (const [field, model] of Object.entries({ model: wanted.model, knowledge: wanted.knowledge?.embedding_model })) {
    const provider = model?.slice(0, model.indexOf('/'))
    if (provider !== undefined && ![...providers.there, ...providers.declared, 'demo'].includes(provider))
      secrets.problems.add(wanted.placeOf(field), `unknown provider ${provider}: it is neither on the server nor in the declaration`)
  }

  const price = wanted.price ?? (body['model'] === undefined ? undefined : await knownPrice(wanted, body['model'], options))
  if (price) {
    const before = isFields(stored?.['price']) ? stored['price'] : {}
    const after = {
      prompt_usd_per_million: writeUsd(price.prompt_usd_per_million),
      completion_usd_per_million: writeUsd(price.completion_usd_per_million),
      // Left out, they are the prompt price.
      cached_prompt_usd_per_million: writeUsdOrNull(price.cached_prompt_usd_per_million),
      cache_write_usd_per_million: writeUsdOrNull(price.cache_write_usd_per_million),
    }
    const differing = Object.entries(after).filter(([name, to]) => compare(fields, `price.${name}`, before[name] ?? null, to))
    if (differing.length > 0) body['price'] = after
  }

  for (const [group, members] of groups) {
    const before = isFields(stored?.[group]) ? stored[group] : {}
    const after = isFields(given[group]) ? given[group] : {}
    const differing = members.flatMap(([, name]) => (compare(fields, `${group}.${name}`, before[name!], after[name!]) ? [name!] : []))
    if (differing.length > 0) body[group] = Object.fromEntries(differing.map((name) => [name, after[name]]))
  }

  let uncompared = 0
  if (wanted.tools) {
    const present = Array.isArray(stored?.['tools']) ? stored['tools'].filter(isFields) : []
    const compared = compareTools(wanted.tools, present, secrets)
    Object.assign(fields, compared.fields)
    uncompared = compared.uncompared
    if (Object.keys(compared.fields).length > 0) body['tools'] = compared.tools
  }
  if (wanted.spend_limits) {
    const after = wanted.spend_limits.map(({ scope, usd, window }) => ({ scope, usd: writeUsd(usd), window }))
    const before = Array.isArray(stored?.['spend_limits']) ? stored['spend_limits'].filter(isFields) : []
    const written = (limits: Fields[]): string | null =>
      limits.length === 0 ? null : limits.map(({ scope, usd, window }) => `${scope} ${usd} ${window}`).join(', ')
    if (compare(fields, 'spend_limits', written(before), written(after))) body['spend_limits'] = after
  }
  // The server creates agents enabled.
  if (compare(fields, 'enabled', stored?.['enabled'] ?? true, wanted.enabled)) body['enabled'] = wanted.enabled
  return { fields, body, uncompared }
}

type GivenPrice = {
  prompt_usd_per_million: string
  completion_usd_per_million: string
  cached_prompt_usd_per_million?: string | null | undefined
  cache_write_usd_per_million?: string | null | undefined
}

const writeUsdOrNull = (text: string | null | undefined): string | null => (typeof text === 'string' ? writeUsd(text) : null)
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Returns the default price of a model, so that the plan shows it, or undefined if its provider does not exist yet. */
async function knownPrice(wanted: WantedAgent, model: unknown, { client, secrets, providers }: Options): Promise<GivenPrice | undefined> {
  const name = String(model)
  const provider = name.slice(0, name.indexOf('/'))
  const isThere = provider === 'demo' || providers.there.includes(provider)
  if (!isThere && !providers.priceless.includes(provider)) return undefined
  // Reported now, because otherwise the run would stop midway.
  const { price } = isThere ? await client.call('GET', '/models/price', { query: { model: name } }) : {}
  if (!isFields(price)) return secrets.problems.add(wanted.placeOf('model'), `no default price for ${name}: set the price of the agent`)
  return {
    prompt_usd_per_million: String(price['prompt_usd_per_million']),
    completion_usd_per_million: String(price['completion_usd_per_million']),
    cached_prompt_usd_per_million: textOrNull(price['cached_prompt_usd_per_million']),
    cache_write_usd_per_million: textOrNull(price['cache_write_usd_per_million']),
  }
}
