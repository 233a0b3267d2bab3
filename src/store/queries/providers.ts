/** Providers of models. Their API keys are handled only in encrypted form. */
import type { Row, Sql } from '../sql.ts'
import { providerKinds } from '../../provider-kinds.ts'
import type { ProviderKind } from '../../provider-kinds.ts'
import { bytes, integer, text, textOrNull } from './columns.ts'
import type { PageRequest } from './paging.ts'
import { read, write } from './operation.ts'
import { installation, unrestricted } from './scope.ts'
import { changed, created, deleted, withheld } from './audited-fields.ts'
import type { AuditedFields } from './audited-fields.ts'

export type Provider = {
  id: string
  name: string
  kind: ProviderKind
  /** null: the default URL of the kind. */
  baseUrl: string | null
  /** Encrypted for `id` and the server of the base URL. */
  sealedApiKey: Uint8Array
  createdAt: number
  updatedAt: number
}

export type NewProvider = Pick<Provider, 'id' | 'name' | 'kind' | 'baseUrl' | 'sealedApiKey'>
export type ProviderChange = Partial<Pick<Provider, 'name' | 'baseUrl' | 'sealedApiKey'>>

/** Returns undefined if the name is taken. */
async function createProvider(sql: Sql, { id, name, kind, baseUrl, sealedApiKey }: NewProvider): Promise<Provider | undefined> {
  const now = await sql.now()
  const made = await sql.run(
    `insert into providers (id, name, kind, base_url, sealed_api_key, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6)
      on conflict (name) do nothing`,
    id,
    name,
    kind,
    baseUrl,
    sealedApiKey,
    now,
  )
  return made === 0 ? undefined : { id, name, kind, baseUrl, sealedApiKey, createdAt: now, updatedAt: now }
}

export async function findProvider(sql: Sql, name: string): Promise<Provider | undefined> {
  const [row] = await sql.all(`select ${columns} from providers where name = $1`, name)
  return row && readProvider(row)
}

async function findProviderById(sql: Sql, id: string): Promise<Provider | undefined> {
  const [row] = await sql.all(`select ${columns} from providers where id = $1`, id)
  return row && readProvider(row)
}

/** Newest first. */
export async function listProviders(sql: Sql, { limit, before }: PageRequest): Promise<Provider[]> {
  const rows = await sql.all(
    `select ${columns} from providers where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3`,
    before.createdAt,
    before.id,
    limit,
  )
  return rows.map(readProvider)
}

export type ProviderChangeOutcome =
  | { kind: 'changed'; provider: Provider }
  | { kind: 'not_found' }
  | { kind: 'name_taken' }
  | InUse
  /** Another change of the base URL was first: read the provider again and decide again. Nothing was written. */
  | { kind: 'stale' }

/** `agentId` is one of the agents whose current version uses this provider, for its model or for its embedding model. */
type InUse = { kind: 'in_use'; agentId: string }

/**
 * The name of a provider in use cannot change, because agents refer to it. `baseUrlBefore` is the base URL that the change is based on,
 * because a key belongs to the server that it is encrypted for.
 */
async function changeProvider(sql: Sql, id: string, change: ProviderChange, baseUrlBefore: string | null): Promise<ProviderChangeOutcome> {
  const present = await findProviderById(sql, id)
  if (!present) return { kind: 'not_found' }
  if (present.baseUrl !== baseUrlBefore) return { kind: 'stale' }
  const provider: Provider = { ...present, ...change, updatedAt: await sql.now() }
  if (provider.name !== present.name) {
    const agentId = await findAgentOnProvider(sql, id)
    if (agentId !== undefined) return { kind: 'in_use', agentId }
    if (await findProvider(sql, provider.name)) return { kind: 'name_taken' }
  }
  await sql.run(
    'update providers set name = $1, base_url = $2, sealed_api_key = $3, updated_at = $4 where id = $5',
    provider.name,
    provider.baseUrl,
    provider.sealedApiKey,
    provider.updatedAt,
    id,
  )
  return { kind: 'changed', provider }
}

async function deleteProvider(sql: Sql, id: string): Promise<{ kind: 'deleted' } | { kind: 'not_found' } | InUse> {
  const provider = await findProviderById(sql, id)
  if (!provider) return { kind: 'not_found' }
  const agentId = await findAgentOnProvider(sql, id)
  if (agentId !== undefined) return { kind: 'in_use', agentId }
  await sql.run('delete from providers where id = $1', id)
  return { kind: 'deleted' }
}

/** The model of the newest agent that uses this provider, for a test call. */
async function modelOnProvider(sql: Sql, name: string): Promise<string | undefined> {
  // A provider's name is a slug, so it contains none of the wildcards of `like`.
  const [row] = await sql.all(
    `select v.model from agents a join agent_versions v on v.agent_id = a.id and v.version = a.version
      where a.deleted_at is null and v.model like $1 order by a.created_at desc, a.id desc limit 1`,
    `${name}/%`,
  )
  return row && text(row, 'model')
}

/** The constraints provider_in_use_keeps_its_name and provider_in_use_stays read the same view. */
async function findAgentOnProvider(sql: Sql, id: string): Promise<string | undefined> {
  const [row] = await sql.all('select agent_id from providers_in_use where id = $1 limit 1', id)
  return row && text(row, 'agent_id')
}

const columns = 'id, name, kind, base_url, sealed_api_key, created_at, updated_at'

function readProvider(row: Row): Provider {
  const kind = providerKinds.find((known) => known === row['kind'])
  if (!kind) throw new Error(`provider ${text(row, 'id')} is of an unknown kind`)
  return {
    id: text(row, 'id'),
    name: text(row, 'name'),
    kind,
    baseUrl: textOrNull(row, 'base_url'),
    sealedApiKey: bytes(row, 'sealed_api_key'),
    createdAt: integer(row, 'created_at'),
    updatedAt: integer(row, 'updated_at'),
  }
}

const providerFields = ({ name, kind, baseUrl, sealedApiKey }: Omit<Provider, 'createdAt' | 'updatedAt'>): AuditedFields => ({
  name,
  kind,
  base_url: baseUrl === null ? null : withoutQuery(baseUrl),
  // The query of an address may contain credentials.
  'base_url.query': withheld(baseUrl === null ? '' : (URL.parse(baseUrl)?.search ?? '')),
  api_key: withheld(Buffer.from(sealedApiKey).toString('base64')),
})

/** Without a user name, a password, a query and a fragment. */
function withoutQuery(address: string): string {
  const url = URL.parse(address)
  // mutant: audit.changes-2
  return url ? `${url.origin}${url.pathname}` : ''
}

export const providerReads = {
  findProvider: read(findProvider, {
    // To save an agent, which names its provider. Everyone who saves an agent must know the name.
    scope: unrestricted,
    readings: null,
  }),
  findProviderById: read(findProviderById, { scope: installation, readings: null }),
  listProviders: read(listProviders, { scope: installation, readings: null }),
  modelOnProvider: read(modelOnProvider, { scope: installation, readings: null }),
}

export const providerWrites = {
  createProvider: write(createProvider, {
    scope: installation,
    audit: (provider, [{ id }]) => created('provider', id, providerFields, provider),
    changesCaches: true,
  }),
  changeProvider: write(changeProvider, {
    scope: installation,
    before: (sql, [id]) => findProviderById(sql, id),
    audit: (outcome, [id], before) => changed('provider', id, providerFields, before, outcome.kind === 'changed' && outcome.provider),
    changesCaches: true,
  }),
  deleteProvider: write(deleteProvider, {
    scope: installation,
    before: (sql, [id]) => findProviderById(sql, id),
    audit: (outcome, [id], before) => deleted('provider', id, providerFields, outcome.kind === 'deleted' && before),
    changesCaches: true,
  }),
}
