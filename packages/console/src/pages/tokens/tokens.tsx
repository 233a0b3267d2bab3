/** The tokens of programs: what they may do, when they end, and when they were last used. */
import { Badge, Button, Stack, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { AdminToken } from '../../api/types.ts'
import { AccessText } from '../../show/access-text.tsx'
import { Confirm } from '../../show/confirm.tsx'
import { Empty } from '../../show/empty.tsx'
import { IdText } from '../../show/id-text.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { useNow } from '../../show/now.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { CreateToken } from './create-token.tsx'

export function Tokens() {
  const list = useList<AdminToken>(['tokens'], '/tokens')
  const [creating, { open, close }] = useDisclosure()
  const [revoked, setRevoked] = useState<AdminToken | null>(null)
  const create = (
    <Button leftSection={<IconPlus size={16} stroke={1.8} aria-hidden="true" />} onClick={open}>
      Create token
    </Button>
  )
  return (
    <Page
      title="Tokens"
      lead="For programs that call the admin API, such as a CI job or the command line. Each has a role, and the audit log names it."
      actions={list.items.length > 0 ? create : null}
    >
      <Waiting for={list.query} what="tokens">
        {() =>
          list.items.length === 0 ? (
            <Empty title="No tokens yet" action={create}>
              Create one for each program, with the least role that it needs. People sign in as operators instead.
            </Empty>
          ) : (
            <Stack gap="xs">
              <TokenTable tokens={list.items} onRevoke={setRevoked} />
              <MoreButton list={list} />
            </Stack>
          )
        }
      </Waiting>
      {creating ? <CreateToken onClose={close} /> : null}
      {revoked ? <RevokeToken token={revoked} onClose={() => setRevoked(null)} /> : null}
    </Page>
  )
}

function TokenTable({ tokens, onRevoke }: { tokens: AdminToken[]; onRevoke: (token: AdminToken) => void }) {
  return (
    <ListTable minWidth={820} aria-label="Tokens, newest first">
      <Table.Thead>
        <Table.Tr>
          {['Name', 'Role', 'State', 'Created', 'Last used', 'Actions'].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tokens.map((token) => (
          <Table.Tr key={token.id}>
            <Table.Th scope="row" fw={500} maw={280}>
              <span className="as-written">{token.name}</span>
              <div>
                <IdText id={token.id} />
              </div>
            </Table.Th>
            <Table.Td>
              <AccessText access={token} />
            </Table.Td>
            <Table.Td>
              <State token={token} />
            </Table.Td>
            <Table.Td>
              <Moment at={token.created_at} />
            </Table.Td>
            <Table.Td>{token.last_used_at === null ? 'Never' : <Moment at={token.last_used_at} />}</Table.Td>
            <Table.Td>
              {token.revoked_at === null ? (
                <Button size="compact-xs" variant="default" aria-label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
                  Revoke
                </Button>
              ) : null}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function State({ token: { revoked_at: revokedAt, expires_at: expiresAt } }: { token: AdminToken }) {
  const now = useNow()
  if (revokedAt !== null) return <Badge color="red">Revoked</Badge>
  if (expiresAt === null) return <Badge color="teal">Active</Badge>
  const isOver = Date.parse(expiresAt) <= now
  return (
    <Stack gap={2} align="flex-start">
      <Badge color={isOver ? 'gray' : 'teal'}>{isOver ? 'Expired' : 'Active'}</Badge>
      <span style={{ fontSize: 12 }}>
        {isOver ? 'Ended ' : 'Ends '}
        <Moment at={expiresAt} />
      </span>
    </Stack>
  )
}

function RevokeToken({ token, onClose }: { token: AdminToken; onClose: () => void }) {
  const queries = useQueryClient()
  const revoke = useMutation({
    meta: { done: 'Token revoked' },
    mutationFn: () => call<void>(`/tokens/${segment(token.id)}`, { method: 'DELETE' }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['tokens'] })
      onClose()
    },
  })
  return (
    <Confirm
      opened
      title={`Revoke ${token.name}?`}
      verb="Revoke token"
      pending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      The program gets 401 for its next request, on every process. This cannot be undone.
    </Confirm>
  )
}
