/** Accepts an invitation: the name, and a password, a passkey or the company account. */
import { Anchor, Button, Divider, Stack, Text, TextInput } from '@mantine/core'
import { IconBuilding, IconFingerprint } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { Link, useLocation } from 'wouter'
import { ApiFailure, call } from '../../api/client.ts'
import { addPasskey } from '../../api/passkeys.ts'
import { useEnter } from '../../api/session.ts'
import { useSignInOptions } from '../../api/sign-in-options.ts'
import type { PendingInvitation, Session } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { Waiting } from '../../show/waiting.tsx'
import { Frame } from './frame.tsx'
import { useLinkToken } from './link-token.ts'
import { NewPassword } from './new-password.tsx'

const icon = { size: 18, stroke: 1.6, 'aria-hidden': true } as const

export function Invitation() {
  const token = useLinkToken()
  const invitation = useQuery({
    queryKey: ['session', 'invitation'],
    meta: { signsIn: true },
    queryFn: ({ signal }) => call<PendingInvitation>('/session/invitation/look-up', { method: 'POST', body: { token }, signal }),
    enabled: token !== '',
    // An accepted invitation does not exist any more.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
  const isGone = token === '' || (invitation.error instanceof ApiFailure && invitation.error.status === 401)
  if (isGone)
    return (
      <Frame
        title="This invitation is not valid"
        lead="It was used before, has expired, or the link is incomplete. Ask the person who sent it for a new one."
      >
        <Anchor component={Link} href="/" size="sm">
          Go to the sign-in
        </Anchor>
      </Frame>
    )
  return (
    <Frame title="Welcome to Turnkeep" lead={invitation.data ? `Choose how you will sign in as ${invitation.data.email}.` : null}>
      <Waiting for={invitation} what="the invitation">
        {(found) => <Acceptance token={token} invitation={found} />}
      </Waiting>
    </Frame>
  )
}

function Acceptance({ token, invitation: { name: given, email } }: { token: string; invitation: PendingInvitation }) {
  const [name, setName] = useState(given)
  const [password, setPassword] = useState('')
  const [, navigate] = useLocation()
  const { passkey, oidc } = useSignInOptions()
  const enter = useEnter()
  // A link is accepted once: if the passkey fails afterwards, the session of the link sets what is chosen next.
  const [isAccepted, setAccepted] = useState(false)
  const accept = async (more: { password?: string }): Promise<void> => {
    await call<Session>('/session/invitation', { method: 'POST', body: { token, name: name.trim(), ...more } })
    setAccepted(true)
  }
  const finish = useMutation({
    meta: { signsIn: true },
    mutationFn: async (way: 'password' | 'passkey') => {
      if (way === 'passkey') {
        if (!isAccepted) await accept({})
        await addPasskey('First passkey')
      } else if (isAccepted) await call('/me/password', { method: 'PUT', body: { new_password: password } })
      else await accept({ password })
      await enter()
    },
    onSuccess: () => navigate('/', { replace: true }),
  })
  const refused = refusalOf(finish.error, ['name', 'password', 'new_password'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '' && password !== '') finish.mutate('password')
  }
  return (
    <Stack component="form" onSubmit={submit} gap="sm">
      <TextInput
        label="Your name"
        description="The audit log shows it to other operators."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        autoComplete="name"
        maxLength={100}
        disabled={isAccepted}
        error={refused.at('name')}
        required
        withAsterisk={false}
      />
      <NewPassword email={email} value={password} onChange={setPassword} error={refused.at('password') ?? refused.at('new_password')} />
      <FailureNote error={refused.rest} title="Could not complete the sign-in" />
      <Button type="submit" loading={finish.isPending && finish.variables === 'password'} disabled={finish.isPending}>
        Continue with this password
      </Button>
      {passkey || oidc ? <Divider label="or" my={4} /> : null}
      {passkey ? (
        <Button
          variant="default"
          leftSection={<IconFingerprint {...icon} />}
          loading={finish.isPending && finish.variables === 'passkey'}
          disabled={finish.isPending || name.trim() === ''}
          onClick={() => finish.mutate('passkey')}
        >
          Continue with a passkey
        </Button>
      ) : null}
      {oidc === null ? null : (
        <Button component="a" href="/admin/v1/session/oidc" variant="default" leftSection={<IconBuilding {...icon} />}>
          Continue with {oidc.name}
        </Button>
      )}
      {passkey ? (
        <Text size="xs" c="dimmed">
          A passkey is stored by this device or your password manager, and cannot be guessed or stolen from a server.
        </Text>
      ) : null}
    </Stack>
  )
}
