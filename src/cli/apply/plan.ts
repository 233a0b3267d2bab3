/**
 * Makes the plan: compares the declaration with the server. Read-only. Everything that can be refused is refused here, before anything is
 * changed.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { documentsPath, keysPath } from '../admin-api/paths.ts'
import type { Environment } from '../../config/config.ts'
import { ownSecrets } from '../../config/own-secrets.ts'
import { originOf } from '../../config/provider-address.ts'
import { compareAgent } from './compare-agent.ts'
import type { ProviderNames } from './compare-agent.ts'
import { readVariable } from './compare-tools.ts'
import type { Secrets } from './compare-tools.ts'
import type { Declaration, WantedAgent, WantedDocument, WantedKey, WantedOwner, WantedWebhook } from './declaration.ts'
import { compare, describe, writeUsd } from './item.ts'
import type { Action, Differences, Item, Kind, Plan } from './item.ts'
import { listAll, matchByName, matchDocuments } from './present.ts'
import type { Matched, Present } from './present.ts'
import { Problems } from './problems.ts'
import type { GivenProvider } from './shapes.ts'
import { scopeOf } from './webhook-scope.ts'

type Options = {
  client: AdminClient
  environment: Environment
  /** Delete keys and documents that are missing from declared lists. */
  prune: boolean
  /** Send values again that cannot be compared. */
  secretsAgain: boolean
}

/** Throws CommandFailed if the declaration cannot be applied to this server. */
export const makePlan = (declaration: Declaration, options: Options): Promise<Plan> => new Planner(options).make(declaration)

class Planner {
  readonly #options: Options
  readonly #problems = new Problems()
  readonly #secrets: Secrets
  readonly #plan: Plan = { items: [], known: new Set(), left: {}, uncompared: 0, notes: [], reads: { files: [], variables: [] } }
  readonly #secretFiles = new Set<string>()
  #providerNames: ProviderNames = { there: [], declared: [], priceless: [] }

  constructor(options: Options) {
    this.#options = options
    this.#secrets = {
      environment: options.environment,
      again: options.secretsAgain,
      problems: this.#problems,
      own: ownSecrets(options.environment),
      variablesRead: this.#plan.reads.variables,
    }
  }

  async make({ providers: declared, webhooks, owners, filesRead }: Declaration): Promise<Plan> {
    this.#plan.reads.files = filesRead
    const providers = await this.#list('/providers')
    this.#providerNames = {
      there: providers.map(({ name }) => name ?? ''),
      declared: declared?.map(({ name }) => name) ?? [],
      priceless: declared?.filter(({ kind }) => kind === 'openai-compatible').map(({ name }) => name) ?? [],
    }
    if (declared) {
      const { pairs, rest } = matchByName('provider', declared, providers, this.#problems)
      for (const { wanted, present } of pairs) this.#plan.items.push(this.#planProvider(wanted, present))
      this.#leave('provider', rest)
    }
    if (owners) {
      const { pairs, rest } = matchByName('owner', owners, await this.#list('/owners'), this.#problems)
      this.#leave('owner', rest)
      const agents = owners.some((owner) => owner.agents) ? await this.#list('/agents') : []
      for (const { wanted, present } of pairs) await this.#planOwner(wanted, present, agents)
    }
    if (webhooks) await this.#planWebhooks(webhooks)
    this.#problems.refuse()
    return this.#plan
  }

  async #list(path: string): Promise<Present[]> {
    const all = await listAll(this.#options.client, path)
    for (const { id } of all) this.#plan.known.add(id)
    return all
  }

  /** Counts what exists but is not declared, and stays as it is. */
  #leave(kind: Kind, rest: Present[]): void {
    this.#plan.left[kind] = (this.#plan.left[kind] ?? 0) + rest.length
  }

  async #planOwner(wanted: WantedOwner, present: Present | undefined, agents: Present[]): Promise<void> {
    const { name, balance_usd: balance, low_balance_usd: low } = wanted
    const fields: Differences = {}
    compare(fields, 'name', present?.name, name)
    // Only the opening balance. After that, only ledger entries change the balance.
    if (!present && balance !== undefined) compare(fields, 'balance_usd', null, writeUsd(balance))
    const lowAfter = typeof low === 'string' ? writeUsd(low) : low
    const lowDiffers = compare(fields, 'low_balance_usd', present?.fields['low_balance_usd'] ?? null, lowAfter)
    const body = {
      name,
      ...(present || balance === undefined ? {} : { balance_usd: balance }),
      ...(lowDiffers ? { low_balance_usd: lowAfter } : {}),
    }
    const owner: Item = { kind: 'owner', name, id: present?.id, parent: undefined, fields, action: actionOf(present, fields), body }
    this.#plan.items.push(owner)
    if (!wanted.agents) return
    const own = agents.filter((agent) => present && agent.fields['owner_id'] === present.id)
    const matched = matchByName('agent', wanted.agents, own, this.#problems)
    this.#leave('agent', matched.rest)
    for (const pair of matched.pairs) await this.#planAgent(owner, pair.wanted, pair.present)
  }

  #planProvider(wanted: GivenProvider, present: Present | undefined): Item {
    const { name, kind, base_url: baseUrl, api_key_env: variable } = wanted
    const fields: Differences = {}
    const body: Fields = {}
    if (present && present.fields['kind'] !== kind)
      this.#problems.add(
        wanted.placeOf('kind'),
        `cannot change the kind of ${name} from ${String(present.fields['kind'])}: use another name for the new provider`,
      )
    if (compare(fields, 'name', present?.name, name)) body['name'] = name
    if (!present) compare(fields, 'kind', null, (body['kind'] = kind))
    const addressBefore = (present?.fields['base_url'] ?? null) as string | null
    if (compare(fields, 'base_url', addressBefore, baseUrl)) body['base_url'] = baseUrl
    const moves = present && baseUrl !== undefined && originOf({ kind, baseUrl }) !== originOf({ kind, baseUrl: addressBefore })
    if (variable === undefined && moves)
      this.#problems.add(wanted.placeOf('base_url'), `api_key_env is required, because the base_url of ${name} moves to another server`)
    if (variable === undefined && !present) this.#problems.add(wanted.place, `the new provider ${name} requires api_key_env`)
    const sends = !present || moves || this.#secrets.again
    if (variable !== undefined && !sends) this.#plan.uncompared++
    if (variable !== undefined && sends) {
      const to = baseUrl ?? present?.fields['base_url']
      const use = `the API key of the provider ${name}${typeof to === 'string' ? `, which is sent to ${to}` : ''}`
      body['api_key'] = readVariable(variable, { place: wanted.placeOf('api_key_env'), use }, this.#secrets)
      fields['api_key'] = { from: present ? 'stored' : null, to: `${present ? 'sent again, ' : ''}from $${variable}` }
    }
    return { kind: 'provider', name, id: present?.id, parent: undefined, fields, action: actionOf(present, fields), body }
  }

  /** After owners and agents, which webhooks refer to by name. */
  async #planWebhooks(webhooks: WantedWebhook[]): Promise<void> {
    const refers = webhooks.some(({ owner, agent }) => typeof owner === 'string' || typeof agent === 'string')
    const [owners, agents] = refers ? [await this.#list('/owners'), await this.#list('/agents')] : [[], []]
    const { pairs, rest } = matchByName('webhook', webhooks, await this.#list('/webhooks'), this.#problems)
    for (const { wanted, present } of pairs) this.#plan.items.push(this.#planWebhook(wanted, present, owners, agents))
    this.#leave('webhook', rest)
  }

  #planWebhook(wanted: WantedWebhook, present: Present | undefined, owners: Present[], agents: Present[]): Item {
    const { url, events, description, include_messages, secretFile } = wanted
    const fields: Differences = {}
    const body: Fields = {}
    const put = (field: string, to: unknown): void => {
      const from = present?.fields[field]
      // Lists are compared by what they contain, in order.
      if (to !== undefined && JSON.stringify(from) !== JSON.stringify(to) && compare(fields, field, from, to)) body[field] = to
    }
    put('url', url)
    put('events', present ? events : (events ?? ['*']))
    put('description', description)
    put('include_messages', include_messages)
    const scope = scopeOf(wanted, present, fields, { items: this.#plan.items, owners, agents }, this.#problems)
    const item: Item = {
      kind: 'webhook',
      scope,
      name: url,
      id: present?.id,
      parent: undefined,
      fields,
      action: actionOf(present, fields),
      body,
      secretFile,
    }
    if (secretFile !== undefined) this.#checkSecretFile(item, secretFile, wanted)
    return item
  }

  async #planAgent(parent: Item, wanted: WantedAgent, present: Present | undefined): Promise<void> {
    const { fields, body, uncompared } = await compareAgent(wanted, present?.fields, {
      client: this.#options.client,
      secrets: this.#secrets,
      providers: this.#providerNames,
    })
    this.#plan.uncompared += uncompared
    const stored = present && { version: Number(present.fields['version']), enabled: present.fields['enabled'] === true }
    const state = { version: stored?.version, enabled: stored?.enabled }
    const agent: Item = {
      kind: 'agent',
      name: wanted.name,
      id: present?.id,
      parent,
      fields,
      action: actionOf(present, fields),
      body,
      ...state,
    }
    this.#plan.items.push(agent)
    if (wanted.keys) {
      const matched = matchByName('key', wanted.keys, present ? await this.#list(keysPath(present.id)) : [], this.#problems)
      for (const pair of matched.pairs) this.#plan.items.push(this.#planKey(agent, pair.wanted, pair.present))
      this.#takeAway('key', agent, matched)
    }
    if (wanted.documents) {
      const matched = matchDocuments(wanted.documents, present ? await this.#list(documentsPath(present.id)) : [], this.#problems)
      for (const pair of matched.pairs) this.#plan.items.push(this.#planDocument(agent, pair.wanted, pair.present))
      this.#takeAway('document', agent, matched)
    }
  }

  #takeAway(kind: 'key' | 'document', parent: Item, { rest }: Matched<unknown>): void {
    if (!this.#options.prune) return this.#leave(kind, rest)
    for (const { id, name } of rest) {
      const base = { action: 'delete' as const, name: name ?? id, id, parent, fields: {} }
      this.#plan.items.push(kind === 'key' ? { kind, ...base, body: {}, secretFile: undefined } : { kind, ...base, wanted: undefined })
    }
  }

  #planKey(parent: Item, wanted: WantedKey, present: Present | undefined): Item {
    const { name, permission, rate_limit: rate, secretFile } = wanted
    const fields: Differences = {}
    const body: Fields = {}
    if (compare(fields, 'name', present?.name, name)) body['name'] = name
    // The same default as `key create`.
    if (compare(fields, 'permission', present?.fields['permission'], present ? permission : (permission ?? 'full')))
      body['permission'] = permission ?? 'full'
    const before = isFields(present?.fields['rate_limit']) ? present.fields['rate_limit'] : {}
    const after = rate && { limit: rate.limit, window_seconds: rate.window_seconds }
    const differing = Object.entries(after ?? {}).filter(([field, to]) => compare(fields, `rate_limit.${field}`, before[field], to))
    if (differing.length > 0) body['rate_limit'] = after
    for (const field of ['default_external_user_id', 'mcp'] as const)
      if (compare(fields, field, present?.fields[field], wanted[field])) body[field] = wanted[field]
    const item: Item = { kind: 'key', name, id: present?.id, parent, fields, action: actionOf(present, fields), body, secretFile }
    if (secretFile !== undefined) this.#checkSecretFile(item, secretFile, wanted)
    return item
  }

  /** The file must not exist for a new key or webhook, and should exist for one that exists. */
  #checkSecretFile(item: Item, file: string, { placeOf }: Pick<WantedKey, 'placeOf'>): void {
    const place = placeOf('secret_file')
    const size = statSync(file, { throwIfNoEntry: false })?.size
    if (this.#secretFiles.has(file)) this.#problems.add(place, 'another key or webhook has the same secret_file')
    this.#secretFiles.add(file)
    if (item.action === 'create') {
      // A run that was killed may have left an empty file.
      if (size) this.#problems.add(place, `cannot create ${describe(item)}: ${file} exists, and is never overwritten`)
      if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
        this.#problems.add(place, `the folder ${dirname(file)} does not exist`)
    } else if (!size) {
      const rotate = `npx --no-install turnkeep ${item.kind === 'key' ? 'key rotate' : 'webhook rotate-secret'} ${item.id} > ${file}`
      this.#plan.notes.push(
        `The secret of ${describe(item)} is not in ${file}. It was shown only when the ${item.kind} was created. To create a new one: ${rotate}`,
      )
    }
  }

  #planDocument(parent: Item, wanted: WantedDocument, present: Present | undefined): Item {
    const { name, title, content } = wanted
    const fields: Differences = {}
    compare(fields, 'title', present?.name, title)
    if (content.source === 'url') compare(fields, 'url', present?.fields['url'], content.url)
    else {
      if (content.source === 'file') compare(fields, 'file', present?.fields['file_name'], content.fileName)
      const stored = present?.fields['source_sha256'] ?? null
      if (stored !== content.sha256)
        fields['content'] = {
          from: present ? contentSummary(stored, present.fields['bytes']) : null,
          to: contentSummary(content.sha256, content.bytes),
        }
    }
    return { kind: 'document', name, id: present?.id, parent, fields, action: actionOf(present, fields), wanted }
  }
}

const actionOf = (present: Present | undefined, fields: Differences): Action =>
  present ? (Object.keys(fields).length > 0 ? 'update' : 'none') : 'create'

/** Shows the size and the start of the digest. */
const contentSummary = (sha256: unknown, bytes: unknown): string =>
  `${Number(bytes).toLocaleString('en-US')} bytes, ${sha256 === null ? 'unknown digest' : `sha256 ${String(sha256).slice(0, 12)}…`}`
