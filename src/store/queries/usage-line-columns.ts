/** The columns of a usage line, which usage-lines.ts and end-user-lines.ts select in the same way: its key, its figures, and the names of today. */
import type { Values } from './reported-turns.ts'

/** Identifies a line within its period. A part that the lines are not grouped by is empty. */
export type LineKey = {
  ownerId: string
  agentId: string
  apiKeyId: string
  /** Empty for an erased end user, too. */
  externalUserId: string
  /** The conversation of an erased end user, whose name is no longer known. */
  erasedConversationId: string
}

const keyParts = ['ownerId', 'agentId', 'apiKeyId', 'externalUserId', 'erasedConversationId'] as const
/** The columns of a key, in the order of the lines. */
export const keyColumns = 'k1, k2, k3, k4, k5'
export const countedStates = ['completed', 'failed', 'released', 'cancelled']
export const summedColumns = ['prompt_tokens', 'completion_tokens', 'charged', 'written_off', 'unpaid']

/** A condition: keys after this one, or up to it. */
export const compareKey = (sign: '>' | '<=', key: LineKey, values: Values): string =>
  `(${keyColumns}) ${sign} (${keyParts.map((part) => `cast(${values.add(key[part])} as text)`).join(', ')})`

export const sums = (columns: string[]): string => columns.map((column) => `cast(sum(${column}) as bigint) as ${column}`).join(', ')

/** Counts the turns by state, from a column `state` that is null in rows that are not a turn. */
export const countStates = (state: string): string =>
  `count(${state}) as turns, ${countedStates.map((one) => `count(case ${state} when '${one}' then 1 end) as ${one}`).join(', ')}`

/** The lines of a query `g`, with names and in the order of their keys. */
export const withNames = (lines: string): string =>
  `select g.*, o.name as owner_name, v.name as agent_name, k.name as key_name from (${lines}) g
     left join owners o on o.id = g.k1
     left join agents a on a.id = g.k2 left join agent_versions v on v.agent_id = a.id and v.version = a.version
     left join api_keys k on k.id = g.k3
   order by g.k1, g.k2, g.k3, g.k4, g.k5`
