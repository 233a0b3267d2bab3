/**
 * Does what a plan says, one thing after another: providers, owners, agents, keys, documents, and at the end what is taken away. Before it makes
 * something it looks whether somebody made it meanwhile, and before it changes an agent whether that is still what the difference was shown of.
 * Never tries twice: the same command again finds by name what is there.
 */
import { readFileSync } from 'node:fs'
import type { AdminClient, Call, Fields } from '../admin-api/client.ts'
import { agentPath, documentsPath, keysPath } from '../admin-api/paths.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { given } from '../terminal/command-options.ts'
import { digestOf } from './declaration.ts'
import type { WantedDocument } from './declaration.ts'
import { describe } from './item.ts'
import type { Item, Kind } from './item.ts'
import { listAll, matchDocuments } from './present.ts'
import type { Present } from './present.ts'
import { Problems } from './problems.ts'
import { openSecretFile } from './secret-file.ts'

export type Doing = {
  client: AdminClient
  /** What was there when the plan was made. */
  known: ReadonlySet<string>
  /** What this run has made. */
  made: Set<string>
  /** What somebody else has made since, by the path of its list. */
  others: Map<string, Present[]>
  /** Before a document is sent. */
  begins(item: Item): void
  /** `secret`: of a new key, which stands in no file. */
  done(item: Item, answer: Fields, secret?: string): Promise<void>
}

const order: Kind[] = ['provider', 'owner', 'agent', 'key', 'document']

/** What is to be done, in the order in which it is. */
export function inOrder(items: Item[]): Item[] {
  const put = items.filter(({ action }) => action === 'create' || action === 'update')
  return [...order.flatMap((kind) => put.filter((item) => item.kind === kind)), ...items.filter(({ action }) => action === 'delete')]
}

/** Throws CommandFailed with code 1 where nothing was changed; after any other error nobody knows whether what was asked has come about. */
export async function carryOut(item: Item, doing: Doing): Promise<void> {
  const { client, done } = doing
  if (item.action === 'delete') return done(item, await client.call('DELETE', pathOf(item)))
  if (item.action === 'create') await refuseMadeMeanwhile(item, doing)
  switch (item.kind) {
    case 'provider':
    case 'owner':
      return done(item, await send(item, { body: item.body }, doing))
    case 'agent':
      return done(item, await putAgent(item, doing))
    case 'key':
      return putKey(item, doing)
    case 'document':
      doing.begins(item)
      return done(item, await send(item, contentOf(item.wanted!), doing))
  }
}

async function send(item: Item, call: Call, { client, made }: Doing): Promise<Fields> {
  if (item.action === 'update') return client.call(item.kind === 'document' ? 'PUT' : 'PATCH', pathOf(item), call)
  const answer = await client.call('POST', listOf(item), call)
  item.id = String(answer['id'])
  made.add(item.id)
  return answer
}

async function putAgent(item: Extract<Item, { kind: 'agent' }>, doing: Doing): Promise<Fields> {
  const { client } = doing
  if (item.action === 'update') {
    const now = await client.call('GET', pathOf(item))
    if (now['version'] !== item.version || now['enabled'] !== item.enabled)
      throw new CommandFailed(
        1,
        `somebody changed it meanwhile: it is at version ${String(now['version'])} now, and the difference was shown of ${item.version}`,
      )
    return send(item, { body: item.body }, doing)
  }
  // An agent is made switched on; nobody has a key of it yet.
  const { enabled, ...body } = item.body
  const made = await send(item, { body: { ...body, owner_id: item.parent!.id } }, doing)
  return enabled === false ? client.call('PATCH', pathOf(item), { body: { enabled } }) : made
}

async function putKey(item: Extract<Item, { kind: 'key' }>, doing: Doing): Promise<void> {
  const { done } = doing
  if (item.action === 'update') return done(item, await send(item, { body: item.body }, doing))
  const file = item.secretFile === undefined ? undefined : openSecretFile(item.secretFile)
  let answer: Fields
  try {
    answer = await send(item, { body: item.body }, doing)
  } catch (error) {
    file?.discard()
    throw error
  }
  const { api_key: secret, ...key } = answer
  return file?.write(String(secret)) ? done(item, key) : done(item, key, String(secret))
}

function contentOf({ title, content }: WantedDocument): Call {
  if (content.source === 'url') return { body: given({ url: content.url, title }) }
  if (content.source === 'text') return { body: { title, text: content.text } }
  const bytes = read(content.path)
  if (digestOf(bytes).sha256 !== content.sha256)
    throw new CommandFailed(1, `${content.path} has changed since the difference was shown; nothing of it was sent`)
  const form = new FormData()
  if (title !== undefined) form.set('title', title)
  form.set('file', new Blob([bytes]), content.fileName)
  return { form }
}

function read(path: string): Buffer<ArrayBuffer> {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CommandFailed(1, `${path} cannot be read: ${causeOf(error)}; nothing of it was sent`)
  }
}

/** Looks through a list once; from then on what is new stands on its newest page. */
async function refuseMadeMeanwhile(item: Item, { client, known, made, others }: Doing): Promise<void> {
  const path = listOf(item)
  const before = others.get(path)
  // Newest first: what was there at the plan's time ends the look.
  const newest = await listAll(client, path, { until: known, ...(before && { limit: 100 }) })
  const fresh = [...newest.filter(({ id }) => !made.has(id)), ...(before ?? [])]
  others.set(path, [...new Map(fresh.map((one) => [one.id, one])).values()])
  const same = fresh.find((one) => isSame(item, one))
  if (same) throw new CommandFailed(1, `it is there now, as ${same.id}: somebody made it meanwhile`)
}

function isSame(item: Item, present: Present): boolean {
  if (item.kind === 'document') return matchDocuments([item.wanted!], [present], new Problems()).rest.length === 0
  return present.name === item.name && (item.kind !== 'agent' || present.fields['owner_id'] === item.parent!.id)
}

function listOf({ kind, parent }: Item): string {
  switch (kind) {
    case 'provider':
      return '/providers'
    case 'owner':
      return '/owners'
    case 'agent':
      return '/agents'
    case 'key':
      return keysPath(parent!.id!)
    case 'document':
      return documentsPath(parent!.id!)
  }
}

function pathOf(item: Item): string {
  const id = encodeURIComponent(item.id!)
  if (item.kind === 'agent') return agentPath(item.id!)
  return item.kind === 'key' ? `/keys/${id}` : `${listOf(item)}/${id}`
}

/** What is left to say when it stops in the middle. */
export function stoppedWords(item: Item, error: unknown, rest: Item[]): string {
  const isSure = error instanceof CommandFailed && error.exitCode === 1
  const unknown =
    !isSure && item.action === 'create' ? '\nIt may have been made all the same; nothing is made twice by running this again.' : ''
  const lost = unknown !== '' && item.kind === 'key' ? ' If it was made, its secret is lost: npx turnkeep key rotate makes another.' : ''
  const others = rest.length > 1 ? ` and ${rest.length - 1} more` : ''
  return `stopped at the ${describe(item)}: ${causeOf(error)}${unknown}${lost}\nNot done: the ${describe(item)}${others}. The same command again goes on from here.`
}
