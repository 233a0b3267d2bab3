/** The table "Who may do what", from the server's own roles. */
import { Table, Text, Title, VisuallyHidden } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { permissions, roles } from '../../api/roles.ts'
import type { Permission, Role } from '../../api/types.ts'
import { ListTable } from '../../show/list-table.tsx'
import { roleNames } from '../../show/role-names.ts'

const roleList = Object.keys(roles) as Role[]
const has = (role: Role, permission: Permission): boolean => (roles[role] as readonly Permission[]).includes(permission)

export function WhoMayDoWhat() {
  return (
    <section aria-labelledby="who-may-do-what">
      <Title order={2} size="h4" id="who-may-do-what" mb={4}>
        Who may do what
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        Billing and Viewer can be given the permission to read messages in addition. An operator who is restricted to an owner sees only
        what belongs to it, and none of the pages of the installation.
      </Text>
      <ListTable minWidth={640} aria-label="Who may do what">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Permission</Table.Th>
            {roleList.map((role) => (
              <Table.Th key={role} scope="col" ta="center">
                {roleNames[role]}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {(Object.keys(permissions) as Permission[]).map((permission) => (
            <Table.Tr key={permission}>
              <Table.Th scope="row" fw={400}>
                {permissions[permission]}
                <Text size="xs" c="dimmed" ff="monospace">
                  {permission}
                </Text>
              </Table.Th>
              {roleList.map((role) => (
                <Table.Td key={role} ta="center">
                  <Mark role={role} permission={permission} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ListTable>
    </section>
  )
}

function Mark({ role, permission }: { role: Role; permission: Permission }) {
  if (has(role, permission))
    return (
      <Text span c="teal">
        <IconCheck size={16} stroke={2.2} aria-hidden="true" />
        <VisuallyHidden>Yes</VisuallyHidden>
      </Text>
    )
  if (permission === 'conversations')
    return (
      <Text span size="xs" c="dimmed">
        optional
      </Text>
    )
  return (
    <Text span c="dimmed">
      <span aria-hidden="true">–</span>
      <VisuallyHidden>No</VisuallyHidden>
    </Text>
  )
}
