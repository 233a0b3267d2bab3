/**
 * Shows the secret of a key once. A click outside and Escape do not close it, and the browser asks before the page is left, because the
 * secret cannot be shown again. It is only in this dialog's memory.
 */
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useEffect } from 'react'
import type { ShownKey } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'
import { CallSnippets } from './call-snippets.tsx'
import { calledOf } from './key-form.ts'
import { exportLine } from './snippets.ts'

export function ShownSecret({ shown, onStored }: { shown: ShownKey; onStored: () => void }) {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [])
  return (
    <Modal
      opened
      onClose={onStored}
      title={`API key ${calledOf(shown)}`}
      size="xl"
      closeOnEscape={false}
      closeOnClickOutside={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert color="yellow" variant="light" title="Copy the API key now">
          It is shown only once, because Turnkeep stores only a hash of it. Keep it in the secret store of the server that calls the agent:
          anyone who has it can spend the owner’s balance. If you lose it, rotate the key.
        </Alert>
        <CodeBlock text={shown.api_key} label="API key" />
        <Text>The snippets below read the key from an environment variable. Set it with this command:</Text>
        <CodeBlock text={exportLine(shown.api_key)} label="export command" />
        <CallSnippets agentId={shown.agent_id} permission={shown.permission} />
        <Group justify="flex-end">
          <Button onClick={onStored}>I have stored the key</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
