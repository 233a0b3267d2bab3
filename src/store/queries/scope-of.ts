/**
 * The owner and the agent that a row belongs to, for principals that are restricted to them (`operator.scope`). Neither ever changes: an
 * agent keeps its owner, a key its agent, a conversation its key, and a turn its conversation. Only a webhook can change; its own queries
 * compare it.
 */
import type { Sql } from '../sql.ts'
import { text } from './columns.ts'
import type { ScopedKind } from './scope.ts'
import { serviceRead } from './operation.ts'

const statements: Record<ScopedKind, string> = {
  agent: 'select a.owner_id, a.id as agent_id from agents a where a.id = $1',
  api_key: 'select a.owner_id, a.id as agent_id from api_keys k join agents a on a.id = k.agent_id where k.id = $1',
  conversation: `select a.owner_id, a.id as agent_id from conversations c join api_keys k on k.id = c.api_key_id
    join agents a on a.id = k.agent_id where c.id = $1`,
  turn: 'select t.owner_id, t.agent_id from turns t where t.request_id = $1',
}

/** Also of deleted agents, revoked keys, erased conversations and erased turns. Undefined if there is no such row. */
async function findScopeOf(sql: Sql, kind: ScopedKind, id: string): Promise<{ ownerId: string; agentId: string } | undefined> {
  const [row] = await sql.all(statements[kind], id)
  return row && { ownerId: text(row, 'owner_id'), agentId: text(row, 'agent_id') }
}

/**
 * A condition of a list: the agent in `column` belongs to the owner in the parameter `owner`. The agents of an owner are few, so the list is
 * still read from its own index, and each row is compared with them.
 */
export const isAgentOf = ({ engine }: Sql, column: string, owner: string): string =>
  engine === 'postgres'
    ? `${column} = any (array(select id from agents where owner_id = ${owner}))`
    : `${column} in (select id from agents where owner_id = ${owner})`

export const scopeOfReads = {
  findScopeOf: serviceRead(findScopeOf),
}
