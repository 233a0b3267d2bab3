/** One operator: its role and restriction, a new link, signing it out, disabling and removing it. */
import { Button, Fieldset, Group, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../api/client.ts'
import { useMe } from '../../api/session.ts'
import type { Invitation, Operator } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Moment } from '../../show/moment.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ChangeOperator } from './change-operator.tsx'
import { OperatorState, waysOf } from './operator-state.tsx'
import { RemoveOperator } from './remove-operator.tsx'
import { ShownLink } from './shown-link.tsx'

const trail = [{ href: '/operators', label: 'Operators' }]

export function OperatorPage({ id }: { id: string }) {
  const operator = useQuery({
    queryKey: ['operators', id],
    queryFn: ({ signal }) => call<Operator>(`/operators/${segment(id)}`, { signal }),
  })
  return (
    <Page title={operator.data?.name ?? 'Operator'} trail={trail} lead={<IdText id={id} />}>
      <Waiting for={operator} what="the operator">
        {(found) => (
          <>
            <Figures>
              <Figure label="State">
                <OperatorState state={found.state} />
              </Figure>
              <Figure label="Email">
                <Text span inherit fz="sm" fw={500}>
                  {found.email}
                </Text>
              </Figure>
              <Figure label="Signs in with">
                <Text span inherit fz="sm" fw={500}>
                  {waysOf(found)}
                </Text>
              </Figure>
              <Figure label="Last sign-in">
                <Text span inherit fz="sm" fw={500}>
                  {found.last_sign_in_at === null ? 'Never' : <Moment at={found.last_sign_in_at} />}
                </Text>
              </Figure>
            </Figures>
            <ChangeOperator key={found.updated_at} operator={found} />
            <SignIn operator={found} />
            <RemoveOperator operator={found} />
          </>
        )}
      </Waiting>
    </Page>
  )
}

function SignIn({ operator }: { operator: Operator }) {
  const { id, name, state } = operator
  const me = useMe()
  const queries = useQueryClient()
  const path = `/operators/${segment(id)}`
  const [link, setLink] = useState<Invitation | null>(null)
  const invite = useMutation({
    // Without a result, because the query cache would keep the link.
    mutationFn: async (): Promise<void> => setLink(await call<Invitation>(`${path}/invite`, { method: 'POST', body: {} })),
  })
  const end = useMutation({
    meta: { done: 'Signed out everywhere' },
    mutationFn: () => call<void>(`${path}/sessions`, { method: 'DELETE' }),
  })
  const enable = useMutation({
    meta: { done: state === 'disabled' ? 'Operator enabled' : 'Operator disabled' },
    mutationFn: (enabled: boolean) => call<Operator>(path, { method: 'PATCH', body: { enabled } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['operators'] }),
  })
  return (
    <Fieldset legend="Sign-in">
      <Text size="sm" mb="sm" maw={720}>
        A new link lets this person choose a new password; earlier links stop working. Signing out and disabling take effect immediately on
        every process.
      </Text>
      <Group gap="xs">
        {state === 'disabled' ? null : (
          <Button variant="default" loading={invite.isPending} onClick={() => invite.mutate()}>
            Create new link
          </Button>
        )}
        <Button variant="default" loading={end.isPending} onClick={() => end.mutate()}>
          Sign out everywhere
        </Button>
        {id === me.id ? null : (
          <Button variant="default" loading={enable.isPending} onClick={() => enable.mutate(state === 'disabled')}>
            {state === 'disabled' ? 'Enable operator' : 'Disable operator'}
          </Button>
        )}
      </Group>
      <FailureNote error={invite.error ?? end.error ?? enable.error} title="Could not change the sign-in" />
      {link === null ? null : (
        <ShownLink
          url={link.invitation_url}
          name={name}
          access={operator}
          expiresAt={link.invitation_expires_at}
          onClose={() => setLink(null)}
        />
      )}
    </Fieldset>
  )
}
