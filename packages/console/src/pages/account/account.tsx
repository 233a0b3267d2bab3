/** The own account: the name, the password, passkeys, and the browsers that are signed in. */
import { Badge, Button, Fieldset, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { useRefreshMe, useMe } from '../../api/session.ts'
import type { Me, OwnSession } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { Page } from '../../show/page.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { roleNames } from '../../show/role-names.ts'
import { Waiting } from '../../show/waiting.tsx'
import { browserOf } from './browser-of.ts'
import { Passkeys } from './passkeys.tsx'
import { Password } from './password.tsx'

export function Account() {
  const me = useMe()
  if (me.who !== 'operator')
    return (
      <Page title="Account">
        <Empty
          title="The admin token has no account"
          action={
            <Button component={Link} href="/operators">
              Open operators
            </Button>
          }
        >
          It is shared by everyone who knows it. Invite yourself as an operator, and sign in with your own account.
        </Empty>
      </Page>
    )
  return (
    <Page title="Account" lead={`${me.email ?? ''} · ${roleNames[me.role]}`}>
      <OwnName me={me} />
      {me.has_company_account ? (
        <Fieldset legend="Company account">
          <Text size="sm">You sign in with your company account. Your password and passkeys are managed there.</Text>
        </Fieldset>
      ) : (
        <>
          <Password me={me} />
          <Passkeys />
        </>
      )}
      <Sessions />
    </Page>
  )
}

function OwnName({ me }: { me: Me }) {
  const [name, setName] = useState(me.name ?? '')
  const refresh = useRefreshMe()
  const save = useMutation({
    meta: { done: 'Name saved' },
    mutationFn: async () => {
      await call<Me>('/me', { method: 'PATCH', body: { name: name.trim() } })
      await refresh()
    },
  })
  const refused = refusalOf(save.error, ['name'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '') save.mutate()
  }
  return (
    <Fieldset legend="Name">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            label="Name"
            description="The audit log shows it."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            autoComplete="name"
            error={refused.at('name')}
            maxLength={100}
            w={320}
            maw="100%"
          />
          <Button type="submit" variant="default" disabled={name.trim() === me.name} loading={save.isPending}>
            Save name
          </Button>
        </Group>
      </form>
      <FailureNote error={refused.rest} title="Could not save the name" />
    </Fieldset>
  )
}

const methods: Record<OwnSession['method'], string> = {
  password: 'Password',
  passkey: 'Passkey',
  oidc: 'Company account',
  link: 'Link',
}

function Sessions() {
  const queries = useQueryClient()
  const sessions = useQuery({
    queryKey: ['me', 'sessions'],
    queryFn: ({ signal }) => call<{ data: OwnSession[] }>('/me/sessions', { signal }),
  })
  const end = useMutation({
    meta: { done: 'Signed out' },
    mutationFn: async (ids: string[]) => {
      for (const id of ids) await call<void>(`/me/sessions/${segment(id)}`, { method: 'DELETE' })
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['me', 'sessions'] }),
  })
  return (
    <Fieldset legend="Where you are signed in">
      <Waiting for={sessions} what="sessions">
        {({ data }) => {
          const others = data.filter(({ current }) => !current).map(({ id }) => id)
          return (
            <Stack gap="sm">
              <SessionTable sessions={data} onEnd={(id) => end.mutate([id])} />
              {others.length > 0 ? (
                <div>
                  <Button variant="default" loading={end.isPending} onClick={() => end.mutate(others)}>
                    Sign out all other browsers
                  </Button>
                </div>
              ) : null}
            </Stack>
          )
        }}
      </Waiting>
      <FailureNote error={end.error} title="Could not sign out" />
    </Fieldset>
  )
}

function SessionTable({ sessions, onEnd }: { sessions: OwnSession[]; onEnd: (id: string) => void }) {
  return (
    <ListTable minWidth={680} aria-label="Sessions, newest first">
      <Table.Thead>
        <Table.Tr>
          {['Browser', 'Signed in with', 'Address', 'Since', 'Ends', 'Actions'].map((name) => (
            <Table.Th key={name} scope="col">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sessions.map(({ id, method, address, user_agent: agent, created_at: since, expires_at: until, current }) => (
          <Table.Tr key={id}>
            <Table.Th scope="row" fw={500}>
              {browserOf(agent)}{' '}
              {current ? (
                <Badge size="sm" color="blue">
                  This browser
                </Badge>
              ) : null}
            </Table.Th>
            <Table.Td>{methods[method]}</Table.Td>
            <Table.Td>
              <Text span size="xs" ff="monospace">
                {address ?? '–'}
              </Text>
            </Table.Td>
            <Table.Td>
              <Moment at={since} />
            </Table.Td>
            <Table.Td>
              <Moment at={until} />
            </Table.Td>
            <Table.Td>
              {current ? null : (
                <Button size="compact-xs" variant="default" aria-label={`Sign out ${browserOf(agent)}`} onClick={() => onEnd(id)}>
                  Sign out
                </Button>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
