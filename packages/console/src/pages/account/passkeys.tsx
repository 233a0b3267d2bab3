/** The own passkeys: adding one of this device, and removing one. */
import { Button, Fieldset, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconFingerprint } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import { addPasskey } from '../../api/passkeys.ts'
import { useRefreshMe } from '../../api/session.ts'
import { useSignInOptions } from '../../api/sign-in-options.ts'
import type { Passkey } from '../../api/types.ts'
import { Confirm } from '../../show/confirm.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { Waiting } from '../../show/waiting.tsx'
import { browserOf } from './browser-of.ts'

export function Passkeys() {
  const queries = useQueryClient()
  const { passkey } = useSignInOptions()
  const [name, setName] = useState(browserOf(navigator.userAgent))
  const [removed, setRemoved] = useState<Passkey | null>(null)
  const passkeys = useQuery({
    queryKey: ['me', 'passkeys'],
    queryFn: ({ signal }) => call<{ data: Passkey[] }>('/me/passkeys', { signal }),
  })
  const add = useMutation({
    meta: { done: 'Passkey added' },
    mutationFn: () => addPasskey(name.trim()),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['me', 'passkeys'] }),
  })
  const refused = refusalOf(add.error, passkey ? ['name'] : [])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '') add.mutate()
  }
  return (
    <Fieldset legend="Passkeys">
      <Stack gap="sm">
        <Text size="sm" maw={720}>
          With a passkey you sign in by unlocking this device or your password manager, without a password. To add one, sign in within the
          last 15 minutes.
        </Text>
        <Waiting for={passkeys} what="passkeys">
          {({ data }) =>
            data.length === 0 ? (
              <Text size="sm" c="dimmed">
                No passkeys yet.
              </Text>
            ) : (
              <PasskeyTable passkeys={data} onRemove={setRemoved} />
            )
          }
        </Waiting>
        {passkey ? (
          <form onSubmit={submit}>
            <Group align="flex-end">
              <TextInput
                label="Name of the new passkey"
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
                maxLength={100}
                error={refused.at('name')}
                w={320}
                maw="100%"
              />
              <Button
                type="submit"
                variant="default"
                leftSection={<IconFingerprint size={16} stroke={1.6} aria-hidden="true" />}
                loading={add.isPending}
              >
                Add passkey
              </Button>
            </Group>
          </form>
        ) : (
          <Text size="sm" role="note">
            At this address browsers allow no passkeys. They need a host name with https, or localhost instead of an IP address.
          </Text>
        )}
        <FailureNote error={refused.rest} title="Could not add the passkey" />
      </Stack>
      {removed ? <RemovePasskey passkey={removed} onClose={() => setRemoved(null)} /> : null}
    </Fieldset>
  )
}

function PasskeyTable({ passkeys, onRemove }: { passkeys: Passkey[]; onRemove: (passkey: Passkey) => void }) {
  return (
    <ListTable minWidth={480} aria-label="Passkeys">
      <Table.Thead>
        <Table.Tr>
          {['Name', 'Added', 'Last used', 'Actions'].map((column) => (
            <Table.Th key={column} scope="col">
              {column}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {passkeys.map((passkey) => (
          <Table.Tr key={passkey.id}>
            <Table.Th scope="row" fw={500} className="as-written">
              {passkey.name}
            </Table.Th>
            <Table.Td>
              <Moment at={passkey.created_at} />
            </Table.Td>
            <Table.Td>{passkey.last_used_at === null ? 'Never' : <Moment at={passkey.last_used_at} />}</Table.Td>
            <Table.Td>
              <Button size="compact-xs" variant="default" aria-label={`Remove ${passkey.name}`} onClick={() => onRemove(passkey)}>
                Remove
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function RemovePasskey({ passkey, onClose }: { passkey: Passkey; onClose: () => void }) {
  const queries = useQueryClient()
  const refresh = useRefreshMe()
  const remove = useMutation({
    meta: { done: 'Passkey removed' },
    mutationFn: async () => {
      await call<void>(`/me/passkeys/${segment(passkey.id)}`, { method: 'DELETE' })
      await refresh()
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['me'] })
      onClose()
    },
  })
  return (
    <Confirm
      opened
      title={`Remove ${passkey.name}?`}
      verb="Remove passkey"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      You can no longer sign in with it, and all other browsers are signed out. Remove it from the device as well.
    </Confirm>
  )
}
