/**
 * Finds an owner, agent, API key, provider, webhook, document, operator or token by its ID or by its name, if only one has that name. Never guesses: an unknown or
 * ambiguous name is an error that lists what exists, with IDs.
 */
import { nearestWord } from '../../config/nearest-word.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { Table, escapeForTerminal } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { AdminClient, Fields } from './client.ts'
import { agentPath, documentsPath, keysPath } from './paths.ts'

export type Kind = 'owner' | 'agent' | 'key' | 'provider' | 'webhook' | 'document' | 'operator' | 'token'

type Known = {
  noun: string
  prefix: string
  /** The fields that count as a name, the first one as the name that is shown. */
  names: string[]
  columns: Column[]
  /** Follows "To list them:" and "To create one:". */
  list: string
  create: string
}

const id: Column = { title: 'ID', path: 'id', as: 'id' }
const name: Column = { title: 'name', path: 'name' }
const model: Column = { title: 'model', path: 'model' }
const ofKey: Column = { title: 'key ID', path: 'key_id', as: 'id' }
const status: Column = { title: 'status', path: 'status' }
const url: Column = { title: 'url', path: 'url' }
const title: Column = { title: 'title', path: 'title' }
const known: Record<Kind, Known> = {
  owner: { noun: 'owner', prefix: 'own_', names: ['name'], columns: [id, name], list: 'owner list', create: 'owner create' },
  agent: { noun: 'agent', prefix: 'agt_', names: ['name'], columns: [id, model, name], list: 'agent list', create: 'agent create' },
  key: { noun: 'API key', prefix: 'key_', names: ['name', 'key_id'], columns: [id, ofKey, name], list: 'key list', create: 'key create' },
  provider: { noun: 'provider', prefix: 'prv_', names: ['name'], columns: [id, name], list: 'provider list', create: 'provider create' },
  webhook: {
    noun: 'webhook',
    prefix: 'whk_',
    names: ['url', 'description'],
    columns: [id, url],
    list: 'webhook list',
    create: 'webhook create',
  },
  operator: {
    noun: 'operator',
    prefix: 'opr_',
    names: ['email', 'name'],
    columns: [id, { title: 'email', path: 'email' }, name],
    list: 'operator list',
    create: 'operator invite',
  },
  token: { noun: 'token', prefix: 'tok_', names: ['name'], columns: [id, name], list: 'token list', create: 'token create' },
  document: {
    noun: 'document',
    prefix: 'doc_',
    names: ['title', 'file_name'],
    columns: [id, status, title],
    list: 'document list',
    create: 'document add',
  },
}

/** Returns what has IDs with this prefix, such as `own`. */
export const kindOf = (prefix: string): Kind => (Object.keys(known) as Kind[]).find((kind) => known[kind].prefix === `${prefix}_`)!

export const nounOf = (kind: Kind): string => known[kind].noun

/**
 * Returns the ID for an ID or a name. Whether an ID exists is not checked, because the request that follows does that.
 * @param agentId the agent of a document
 * Throws CommandFailed with code 1 if no item, or more than one, has the name.
 */
export async function findId(client: AdminClient, kind: Kind, given: string, agentId?: string): Promise<string> {
  const { prefix, noun } = known[kind]
  if (given.startsWith(prefix)) return given
  const all = await everyOne(client, kind, agentId)
  const meant = withName(all, kind, given)
  if (meant.length === 1) return String(meant[0]!['id'])
  if (meant.length > 1)
    throw new CommandFailed(
      1,
      `${meant.length} ${noun}s are named ${escapeForTerminal(given)}. Specify the ID of one of:\n${listLines(meant, kind).join('\n')}`,
    )
  throw new CommandFailed(1, unknown(kind, given, all))
}

/** Like `findId`, for an option that may be absent. */
export async function findGiven(client: AdminClient, kind: Kind, given: string | undefined): Promise<string | undefined> {
  return given === undefined ? undefined : findId(client, kind, given)
}

/** The IDs that a list or a report is filtered by. */
export type Filters = {
  owner?: string | undefined
  agent?: string | undefined
  key?: string | undefined
  /** A conversation has no name. */
  conversation?: string | undefined
}

/** Replaces names by IDs. Throws as `findId`. */
export async function findFilters(client: AdminClient, { owner, agent, key, conversation }: Filters): Promise<Filters> {
  return {
    conversation,
    owner: await findGiven(client, 'owner', owner),
    agent: await findGiven(client, 'agent', agent),
    key: await findGiven(client, 'key', key),
  }
}

/**
 * For a result that is empty: throws CommandFailed with code 1 if a filter is the ID of something that does not exist. A deleted agent may
 * still have turns, so this is not checked beforehand.
 */
export async function refuseUnknownFilters(client: AdminClient, filters: Filters): Promise<void> {
  for (const kind of ['owner', 'agent', 'key'] as const) {
    const given = filters[kind]
    if (given === undefined) continue
    const all = await everyOne(client, kind)
    if (!all.some((one) => one['id'] === given)) throw new CommandFailed(1, unknownId(kind, given, all))
  }
  if (filters.conversation !== undefined) await client.call('GET', `/conversations/${encodeURIComponent(filters.conversation)}`)
}

/** Finds items by exact name. The first field that any item matches counts, so that a title has priority over a file name. */
function withName(all: Fields[], kind: Kind, given: string): Fields[] {
  for (const field of known[kind].names) {
    const meant = all.filter((one) => one[field] === given)
    if (meant.length > 0) return meant
  }
  return []
}

/** Lists all items, without revoked keys and tokens, which cannot be used again. */
async function everyOne(client: AdminClient, kind: Kind, agentId?: string): Promise<Fields[]> {
  switch (kind) {
    case 'document':
      return listed(client, documentsPath(agentId!))
    case 'key': {
      const keys: Fields[] = []
      for (const agent of await listed(client, '/agents')) keys.push(...(await listed(client, keysPath(String(agent['id'])))))
      return keys.filter((key) => (key['revoked_at'] ?? null) === null)
    }
    case 'owner':
    case 'agent':
    case 'provider':
    case 'webhook':
    case 'operator':
      return listed(client, `/${kind}s`)
    case 'token':
      return (await listed(client, '/tokens')).filter((token) => (token['revoked_at'] ?? null) === null)
  }
}

async function listed(client: AdminClient, path: string): Promise<Fields[]> {
  const all: Fields[] = []
  for await (const { data } of client.pages(path)) all.push(...data)
  return all
}

function unknown(kind: Kind, given: string, all: Fields[]): string {
  const { noun, create, names } = known[kind]
  if (all.length === 0) return `no ${noun}s exist. To create one: npx --no-install turnkeep ${create} --help`
  const meant = nearestWord(given, [...new Set(all.flatMap((one) => names.flatMap((field) => (one[field] ? [String(one[field])] : []))))])
  const hint = meant === undefined ? '.' : `: did you mean ${escapeForTerminal(meant)}?`
  return `no ${noun} is named ${escapeForTerminal(given)}${hint} Specify the ID of one of:\n${listLines(all, kind).join('\n')}`
}

function unknownId(kind: Kind, given: string, all: Fields[]): string {
  const { noun, list } = known[kind]
  const ids = all.map((one) => String(one['id']))
  // Two IDs have nothing in common but their prefix, so more than a few edits are another ID.
  const meant = nearestWord(given, ids, 3)
  const hint = meant === undefined ? '.' : `: did you mean ${meant}?`
  return `no ${noun} has the ID ${escapeForTerminal(given)}${hint} To list them: npx --no-install turnkeep ${list}${kind === 'key' ? ' <agent>' : ''}`
}

// The `list` command lists all of them.
const maxLines = 20

/** Returns the lines of a table of these items, indented, for a message. */
export function listLines(items: Fields[], kind: Kind): string[] {
  const table = new Table(known[kind].columns)
  const more = items.length > maxLines ? [`  … and ${items.length - maxLines} more: npx --no-install turnkeep ${known[kind].list}`] : []
  return [...table.lines(items.slice(0, maxLines)).map((line) => `  ${line}`), ...more]
}

/** Returns the path of an agent that is given by ID or name. Throws CommandFailed with code 1. */
export const pathOfAgent = async (client: AdminClient, given: string): Promise<string> => agentPath(await findId(client, 'agent', given))
