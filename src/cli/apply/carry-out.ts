/**
 * Carries out a plan, one item after another: providers, owners, agents, webhooks, keys, documents, and deletions last. Before it creates an item, it
 * checks whether another client has created it since the plan was made. Before it updates an agent, it checks that the agent has not
 * changed since. It never retries: when the command runs again, it finds existing items by name.
 */
import { readFileSync } from 'node:fs'
import type { AdminClient, Call, Fields } from '../admin-api/client.ts'
import { digestOf } from '../admin-api/document-files.ts'
import { agentPath, documentsPath, keysPath } from '../admin-api/paths.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { given } from '../terminal/command-options.ts'
import type { WantedDocument } from './declaration.ts'
import { describe } from './item.ts'
import type { Item, Kind } from './item.ts'
import { listAll, matchDocuments } from './present.ts'
import type { Present } from './present.ts'
import { Problems } from './problems.ts'
import { openSecretFile } from './secret-file.ts'

export type Doing = {
  client: AdminClient
  /** The IDs of everything on the server when the plan was made. */
  known: ReadonlySet<string>
  /** The IDs of everything that this run has created. */
  made: Set<string>
  /** What other clients have created since the plan was made, by the path of the list. */
  others: Map<string, Present[]>
  /** Called before a document is uploaded. */
  begins(item: Item): void
  /** Called after each change. `secret` is set for a new key or webhook whose secret was not written to a file. */
  done(item: Item, answer: Fields, secret?: string): Promise<void>
}

const order: Kind[] = ['provider', 'owner', 'agent', 'webhook', 'key', 'document']

/** Returns the items to change, in the order in which they are carried out. */
export function inOrder(items: Item[]): Item[] {
  const put = items.filter(({ action }) => action === 'create' || action === 'update')
  return [...order.flatMap((kind) => put.filter((item) => item.kind === kind)), ...items.filter(({ action }) => action === 'delete')]
}

/** Throws CommandFailed if the item was not changed. After any other error it is unknown whether the change happened. */
export async function carryOut(item: Item, doing: Doing): Promise<void> {
  const { client, done } = doing
  if (item.action === 'delete') return done(item, await client.call('DELETE', pathOf(item)))
  if (item.action === 'create') await refuseMadeMeanwhile(item, doing)
  switch (item.kind) {
    case 'provider':
      return done(item, await send(item, { body: item.body }, doing))
    case 'owner':
      return done(item, await putOwner(item, doing))
    case 'agent':
      return done(item, await putAgent(item, doing))
    case 'key':
    case 'webhook':
      return putWithSecret(item, doing)
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

async function putOwner(item: Extract<Item, { kind: 'owner' }>, doing: Doing): Promise<Fields> {
  if (item.action === 'update') return send(item, { body: item.body }, doing)
  // The API creates an owner without a low balance.
  const { low_balance_usd: lowBalance, ...body } = item.body
  const made = await send(item, { body }, doing)
  return lowBalance === undefined ? made : doing.client.call('PATCH', pathOf(item), { body: { low_balance_usd: lowBalance } })
}

async function putAgent(item: Extract<Item, { kind: 'agent' }>, doing: Doing): Promise<Fields> {
  const { client } = doing
  if (item.action === 'update') {
    const now = await client.call('GET', pathOf(item))
    if (now['version'] !== item.version || now['enabled'] !== item.enabled)
      throw new CommandFailed(
        1,
        `it was changed after the plan was made: the plan is for version ${item.version}, and it is now at version ${String(now['version'])}`,
      )
    return send(item, { body: item.body }, doing)
  }
  // The API creates agents enabled. The agent has no key yet, so no one can call it before it is disabled.
  const { enabled, ...body } = item.body
  const made = await send(item, { body: { ...body, owner_id: item.parent!.id } }, doing)
  return enabled === false ? client.call('PATCH', pathOf(item), { body: { enabled } }) : made
}

async function putWithSecret(item: Extract<Item, { kind: 'key' | 'webhook' }>, doing: Doing): Promise<void> {
  const { done } = doing
  const body = item.kind === 'webhook' ? { ...item.body, ...item.scope.send() } : item.body
  if (item.action === 'update') return done(item, await send(item, { body }, doing))
  const file = item.secretFile === undefined ? undefined : openSecretFile(item.secretFile)
  let answer: Fields
  try {
    answer = await send(item, { body }, doing)
  } catch (error) {
    file?.discard()
    throw error
  }
  const { api_key: apiKey, secret: signing, ...rest } = answer
  const secret = String(item.kind === 'key' ? apiKey : signing)
  return file?.write(secret) ? done(item, rest) : done(item, rest, secret)
}

function contentOf({ title, content }: WantedDocument): Call {
  if (content.source === 'url') return { body: given({ url: content.url, title }) }
  if (content.source === 'text') return { body: { title, text: content.text } }
  const bytes = read(content.path)
  if (digestOf(bytes).sha256 !== content.sha256)
    throw new CommandFailed(2, `${content.path} was changed after the plan was made; it was not uploaded`)
  const form = new FormData()
  if (title !== undefined) form.set('title', title)
  form.set('file', new Blob([bytes]), content.fileName)
  return { form }
}

function read(path: string): Buffer<ArrayBuffer> {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CommandFailed(2, `cannot read ${path}: ${causeOf(error)}; it was not uploaded`)
  }
}

/** Reads a list once up to the first known item. After that, new items are on its first page. */
async function refuseMadeMeanwhile(item: Item, { client, known, made, others }: Doing): Promise<void> {
  const path = listOf(item)
  const before = others.get(path)
  // Lists are newest first, so the first item that the plan knows ends the search.
  const newest = await listAll(client, path, { until: known, ...(before && { limit: 100 }) })
  const fresh = [...newest.filter(({ id }) => !made.has(id)), ...(before ?? [])]
  others.set(path, [...new Map(fresh.map((one) => [one.id, one])).values()])
  const same = fresh.find((one) => isSame(item, one))
  if (same) throw new CommandFailed(2, `another client created it after the plan was made (${same.id})`)
}

function isSame(item: Item, present: Present): boolean {
  if (item.kind === 'document') return matchDocuments([item.wanted!], [present], new Problems()).rest.length === 0
  return present.name === item.name && (item.kind !== 'agent' || present.fields['owner_id'] === item.parent!.id)
}

function listOf({ kind, parent }: Item): string {
  switch (kind) {
    case 'provider':
      return '/providers'
    case 'webhook':
      return '/webhooks'
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

/** Returns the error message for a run that stopped midway. */
export function stoppedWords(item: Item, error: unknown, rest: Item[]): string {
  const isSure = error instanceof CommandFailed && error.exitCode === 1
  const unknown =
    !isSure && item.action === 'create' ? '\nIt may have been created anyway; running the command again does not create it twice.' : ''
  const rotate = item.kind === 'key' ? 'key rotate' : 'webhook rotate-secret'
  const hasSecret = item.kind === 'key' || item.kind === 'webhook'
  const lost =
    unknown !== '' && hasSecret ? ` If it was created, its secret is lost: create a new one with npx --no-install turnkeep ${rotate}.` : ''
  const others = rest.length > 1 ? ` and ${rest.length - 1} more` : ''
  const rerun = `Not applied: ${describe(item)}${others}. Run the same command again to continue.`
  return `cannot ${item.action} ${describe(item)}: ${causeOf(error)}${unknown}${lost}\n${rerun}`
}
