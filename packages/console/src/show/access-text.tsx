/** What an operator or a token may do, in one line. */
import { Text } from '@mantine/core'
import { useOwners } from '../api/lists.ts'
import type { Role } from '../api/types.ts'
import { roleNames } from './role-names.ts'

type AccessTextProps = { access: { role: Role; permissions: readonly string[]; owner_id: string | null; agent_id?: string | null } }

export function AccessText({ access: { role, permissions, owner_id: ownerId, agent_id: agentId = null } }: AccessTextProps) {
  const owner = useOwners().data?.find(({ id }) => id === ownerId)
  return (
    <>
      {roleNames[role]}
      {permissions.includes('conversations') ? ', may read messages' : ''}
      {ownerId === null && agentId === null ? null : (
        <Text size="xs" c="dimmed" className="as-written">
          Only {agentId ?? owner?.name ?? ownerId}
        </Text>
      )}
    </>
  )
}
