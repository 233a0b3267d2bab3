/** One agent's keys and the open dialog. The secret of a key is in that dialog's state and disappears with it. */
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useFocusReturn } from '@mantine/hooks'
import { useState } from 'react'
import { useKeys } from '../../api/lists.ts'
import type { Key, ShownKey } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { CallSnippets } from './call-snippets.tsx'
import { ChangeKey } from './change-key.tsx'
import { Clients } from './clients.tsx'
import { CreateKey } from './create-key.tsx'
import { KeyTable } from './key-table.tsx'
import type { Deed } from './key-table.tsx'
import { RevokeKey } from './revoke-key.tsx'
import { RotateKey } from './rotate-key.tsx'
import { ShownSecret } from './shown-secret.tsx'
import { Allowed } from '../../show/allowed.tsx'

type Dialog = { kind: 'create' } | { kind: Deed; apiKey: Key } | { kind: 'shown'; shown: ShownKey }

export function KeysOf({ agentId }: { agentId: string }) {
  const keys = useKeys(agentId)
  const [dialog, setDialog] = useState<Dialog | null>(null)
  useFocusReturn({ opened: dialog !== null })
  return (
    <Waiting for={keys} what="API keys">
      {(known) => (
        <Stack gap="lg">
          <Group justify="space-between" align="flex-start" gap="sm">
            <Text size="sm" c="dimmed" maw={620}>
              Your programs call the agent with an API key. Each key can access only its own conversations.
            </Text>
            <Allowed permission="keys">
              <Button onClick={() => setDialog({ kind: 'create' })}>Create API key</Button>
            </Allowed>
          </Group>
          {known.length === 0 ? (
            <Empty title="No API keys yet">
              Create an API key for each program that calls this agent. The playground works without one.
            </Empty>
          ) : (
            <>
              <KeyTable keys={known} onDeed={(kind, apiKey) => setDialog({ kind, apiKey })} />
              {/* The dialog with a new secret has its own. */}
              {dialog?.kind === 'shown' ? null : (
                <>
                  <section aria-labelledby="call-the-agent">
                    <Title order={2} size="h4" id="call-the-agent" mb="xs">
                      Call the agent
                    </Title>
                    <CallSnippets agentId={agentId} permission="full" />
                  </section>
                  <section aria-labelledby="other-clients">
                    <Title order={2} size="h4" id="other-clients" mb="xs">
                      Use the agent with other clients
                    </Title>
                    <Clients agentId={agentId} />
                  </section>
                </>
              )}
            </>
          )}
          {dialog ? (
            <KeyDialogs
              agentId={agentId}
              dialog={dialog}
              onShown={(shown) => setDialog({ kind: 'shown', shown })}
              onClose={() => setDialog(null)}
            />
          ) : null}
        </Stack>
      )}
    </Waiting>
  )
}

type KeyDialogsProps = { agentId: string; dialog: Dialog; onShown: (shown: ShownKey) => void; onClose: () => void }

function KeyDialogs({ agentId, dialog, onShown, onClose }: KeyDialogsProps) {
  switch (dialog.kind) {
    case 'create':
      return <CreateKey agentId={agentId} onShown={onShown} onClose={onClose} />
    case 'change':
      return <ChangeKey apiKey={dialog.apiKey} onClose={onClose} />
    case 'rotate':
      return <RotateKey apiKey={dialog.apiKey} onShown={onShown} onClose={onClose} />
    case 'revoke':
      return <RevokeKey apiKey={dialog.apiKey} onClose={onClose} />
    case 'shown':
      return <ShownSecret shown={dialog.shown} onStored={onClose} />
  }
}
