/** The operators: who may sign in to the console, with which role, and how they sign in. */
import { Anchor, Badge, Button, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconUserPlus } from '@tabler/icons-react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import { useMe } from '../../api/session.ts'
import type { Operator } from '../../api/types.ts'
import { AccessText } from '../../show/access-text.tsx'
import { Empty } from '../../show/empty.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { InviteOperator } from './invite-operator.tsx'
import { OperatorState, waysOf } from './operator-state.tsx'
import { WhoMayDoWhat } from './who-may-do-what.tsx'

export function Operators() {
  const list = useList<Operator>(['operators'], '/operators')
  const [inviting, { open, close }] = useDisclosure()
  const invite = (
    <Button leftSection={<IconUserPlus size={16} stroke={1.8} aria-hidden="true" />} onClick={open}>
      Invite operator
    </Button>
  )
  return (
    <Page
      title="Operators"
      lead="Everyone who signs in to the console, each with an account of their own. The audit log names them."
      actions={list.items.length > 0 ? invite : null}
    >
      <Waiting for={list.query} what="operators">
        {() =>
          list.items.length === 0 ? (
            <Empty title="No operators yet" action={invite}>
              Invite yourself first, with the role Admin. Afterwards you can switch off the admin token, which everyone who knows it shares.
            </Empty>
          ) : (
            <Stack gap="xs">
              <OperatorTable operators={list.items} />
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
      <WhoMayDoWhat />
      {inviting ? <InviteOperator onClose={close} /> : null}
    </Page>
  )
}

function OperatorTable({ operators }: { operators: Operator[] }) {
  return (
    <ListTable minWidth={760} aria-label="Operators, newest first" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          {['Name', 'Role', 'State', 'Signs in with', 'Last sign-in'].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {operators.map((operator) => (
          <OperatorRow key={operator.id} operator={operator} />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function OperatorRow({ operator }: { operator: Operator }) {
  const me = useMe()
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} maw={300}>
        <Anchor component={Link} href={`/operators/${segment(operator.id)}`} inherit className="as-written">
          {operator.name}
        </Anchor>
        {operator.id === me.id ? (
          <Badge size="sm" color="gray" ml={6}>
            You
          </Badge>
        ) : null}
        <Text size="xs" c="dimmed" fw={400} className="as-written">
          {operator.email}
        </Text>
      </Table.Th>
      <Table.Td>
        <AccessText access={operator} />
      </Table.Td>
      <Table.Td>
        <OperatorState state={operator.state} />
      </Table.Td>
      <Table.Td>{waysOf(operator)}</Table.Td>
      <Table.Td>{operator.last_sign_in_at === null ? 'Never' : <Moment at={operator.last_sign_in_at} />}</Table.Td>
    </Table.Tr>
  )
}
