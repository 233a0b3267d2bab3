/** The keys of an agent, including revoked ones, and their actions. */
import { Anchor, Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Key } from '../../api/types.ts'
import { IdText } from '../../show/id-text.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { calledOf } from './key-form.ts'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

export type Deed = 'change' | 'rotate' | 'revoke'

export function KeyTable({ keys, onDeed }: { keys: Key[]; onDeed: (deed: Deed, apiKey: Key) => void }) {
  return (
    <ListTable minWidth={960} verticalSpacing="sm" fz="sm" aria-label="API keys">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Name and key ID</Table.Th>
          <Table.Th scope="col">Permission and limit</Table.Th>
          <Table.Th scope="col">Created</Table.Th>
          <Table.Th scope="col">
            Last used
            <Text size="xs" c="dimmed" fw={400}>
              delayed by up to 1 minute
            </Text>
          </Table.Th>
          <Table.Th scope="col">Status</Table.Th>
          <Table.Th scope="col">Actions</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {keys.map((apiKey) => (
          <KeyRow key={apiKey.id} apiKey={apiKey} onDeed={onDeed} />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function KeyRow({ apiKey, onDeed }: { apiKey: Key; onDeed: (deed: Deed, apiKey: Key) => void }) {
  const {
    id,
    agent_id: agentId,
    key_id: keyId,
    name,
    permission,
    rate_limit: rate,
    default_external_user_id: user,
    mcp,
    created_at: created,
    last_used_at: used,
    revoked_at: revoked,
  } = apiKey
  const called = calledOf(apiKey)
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} miw={180} maw={260}>
        <span className="as-written">{name ?? 'Unnamed'}</span>
        <div>
          <IdText id={keyId} />
        </div>
      </Table.Th>
      <Table.Td miw={120}>
        <Text size="sm">
          {permission === 'full' ? 'Full' : 'Read-only'}
          {mcp ? ', MCP' : ''}
        </Text>
        <Text size="xs" c="dimmed" className="figures">
          {writeCount(rate.limit)} requests / {writeCount(rate.window_seconds)} s
        </Text>
        {user === null ? null : (
          <Text size="xs" c="dimmed" className="as-written">
            Default user {user}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Moment at={created} />
      </Table.Td>
      <Table.Td>{used === null ? 'Never' : <Moment at={used} />}</Table.Td>
      <Table.Td miw={100}>
        {revoked === null ? (
          <>
            <Badge color="teal">Active</Badge>
            <Text size="xs" c="dimmed">
              Does not expire
            </Text>
          </>
        ) : (
          <>
            <Badge color="red">Revoked</Badge>
            <Text size="xs" component="div">
              <Moment at={revoked} />
            </Text>
          </>
        )}
      </Table.Td>
      <Table.Td>
        <Stack gap={4} align="flex-start">
          {revoked === null ? (
            <Allowed permission="keys">
              <Group gap={4} wrap="nowrap">
                {(['change', 'rotate', 'revoke'] as const).map((verb) => (
                  <Button
                    key={verb}
                    size="compact-xs"
                    variant="default"
                    onClick={() => onDeed(verb, apiKey)}
                    aria-label={`${verbs[verb]} ${called}`}
                  >
                    {verbs[verb]}
                  </Button>
                ))}
              </Group>
            </Allowed>
          ) : null}
          <Anchor
            component={Link}
            href={`/conversations?${new URLSearchParams({ agent_id: agentId, key_id: id }).toString()}`}
            size="xs"
            underline="always"
          >
            Conversations<span className="for-readers-only"> of {called}</span>
          </Anchor>
        </Stack>
      </Table.Td>
    </Table.Tr>
  )
}

const verbs = { change: 'Edit', rotate: 'Rotate', revoke: 'Revoke' }
