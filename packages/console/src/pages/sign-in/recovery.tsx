/** Uses a recovery link, which `npx --no-install turnkeep operator recover` prints on the machine of the server. */
import { Anchor, Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { Link, useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useEnter } from '../../api/session.ts'
import type { Session } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { Frame } from './frame.tsx'
import { useLinkToken } from './link-token.ts'
import { NewPassword } from './new-password.tsx'

export function Recovery() {
  const token = useLinkToken()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [, navigate] = useLocation()
  const enter = useEnter()
  const recover = useMutation({
    meta: { signsIn: true },
    mutationFn: async () => {
      const body = { token, email: email.trim(), password, ...(name.trim() === '' ? {} : { name: name.trim() }) }
      await call<Session>('/session/recovery', { method: 'POST', body })
      await enter()
    },
    onSuccess: () => navigate('/', { replace: true }),
  })
  if (token === '')
    return (
      <Frame title="This link is not complete" lead="Copy the whole link that npx --no-install turnkeep operator recover printed.">
        <Anchor component={Link} href="/" size="sm">
          Go to the sign-in
        </Anchor>
      </Frame>
    )
  const refused = refusalOf(recover.error, ['email', 'name', 'password'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (email.trim() !== '' && password !== '') recover.mutate()
  }
  return (
    <Frame
      title="Recover access"
      lead="The operator with this email address, or a new one, becomes an admin with this password. Its passkeys and its company account are removed, and its sessions end."
    >
      <Stack component="form" onSubmit={submit} gap="sm">
        <TextInput
          type="email"
          label="Email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          autoComplete="username"
          error={refused.at('email')}
          required
          withAsterisk={false}
        />
        <TextInput
          label="Name"
          description="Only if the operator is new."
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="name"
          error={refused.at('name')}
          maxLength={100}
        />
        <NewPassword email={email} value={password} onChange={setPassword} error={refused.at('password')} />
        <FailureNote error={refused.rest} title="Could not recover access" />
        <Button type="submit" loading={recover.isPending}>
          Set password and sign in
        </Button>
      </Stack>
    </Frame>
  )
}
