/** Finds the owner and the agent that a webhook is restricted to, by name: among the declared items, or else on the server. */
import type { Fields } from '../admin-api/client.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { WantedWebhook } from './declaration.ts'
import type { Differences, Item } from './item.ts'
import type { Present } from './present.ts'
import type { Problems } from './problems.ts'

/** `id` is known when the item has been created. */
type Reference = { name: string; item: Item | undefined; id(): string | undefined }
type Known = { items: Item[]; owners: Present[]; agents: Present[] }
type Wanted = Pick<WantedWebhook, 'owner' | 'agent' | 'placeOf'>

/**
 * Adds what differs to `fields`. `send` returns the IDs to send, and throws CommandFailed if one was not created, so that no webhook gets
 * the events of others.
 */
export function scopeOf(
  wanted: Wanted,
  present: Present | undefined,
  fields: Differences,
  known: Known,
  problems: Problems,
): { send(): Fields } {
  const { owner: ownerName, agent: agentName, placeOf } = wanted
  if (typeof agentName === 'string' && typeof ownerName !== 'string')
    problems.add(placeOf('agent'), 'owner is required, because agents of several owners may have the same name')
  const owner = typeof ownerName === 'string' ? findOwner(ownerName, wanted, known, problems) : ownerName
  const agent = typeof agentName === 'string' ? owner && findAgent(agentName, owner, wanted, known, problems) : agentName
  const differing = (['owner', 'agent'] as const).flatMap((kind) => {
    const to = kind === 'owner' ? owner : agent
    const from = (present?.fields[`${kind}_id`] ?? null) as string | null
    if (to === undefined || (to === null ? from === null : to.id() !== undefined && to.id() === from)) return []
    fields[kind] = { from, to: to?.name ?? null }
    return [[kind, to] as const]
  })
  return { send: () => Object.fromEntries(differing.map(([kind, to]) => [`${kind}_id`, to && idOf(kind, to)])) }
}

function idOf(kind: string, { name, id }: Reference): string {
  const found = id()
  if (found === undefined) throw new CommandFailed(2, `the ${kind} ${escapeForTerminal(name)} was not created`)
  return found
}

function findOwner(name: string, { placeOf }: Wanted, { items, owners }: Known, problems: Problems): Reference | undefined {
  const item = items.find((one) => one.kind === 'owner' && one.name === name)
  if (item) return { name, item, id: () => item.id }
  return single(
    name,
    owners.filter((one) => one.name === name),
    (found) =>
      problems.add(placeOf('owner'), `${found} owner named ${escapeForTerminal(name)}: declare it, or use the name of an existing one`),
  )
}

function findAgent(name: string, owner: Reference, { placeOf }: Wanted, known: Known, problems: Problems): Reference | undefined {
  const item = known.items.find((one) => one.kind === 'agent' && one.name === name && one.parent === owner.item)
  if (item) return { name, item, id: () => item.id }
  return single(
    name,
    known.agents.filter((one) => one.name === name && one.fields['owner_id'] === owner.id()),
    (found) => problems.add(placeOf('agent'), `${found} agent named ${escapeForTerminal(name)} of ${escapeForTerminal(owner.name)}`),
  )
}

function single(name: string, found: Present[], refuse: (found: string) => void): Reference | undefined {
  if (found.length !== 1) return void refuse(found.length === 0 ? 'there is no' : `the server has more than one`)
  return { name, item: undefined, id: () => found[0]!.id }
}
