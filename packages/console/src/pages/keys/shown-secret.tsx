/** Shows the secret of a key once. It is only in this dialog's memory. */
import { Alert, Text } from '@mantine/core'
import type { ShownKey } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'
import { ShownOnce } from '../../show/shown-once.tsx'
import { CallSnippets } from './call-snippets.tsx'
import { calledOf } from './key-form.ts'
import { exportLine } from './snippets.ts'

export function ShownSecret({ shown, onStored }: { shown: ShownKey; onStored: () => void }) {
  return (
    <ShownOnce title={`API key ${calledOf(shown)}`} size="xl" stored="I have stored the key" onStored={onStored}>
      <Alert color="yellow" variant="light" title="Copy the API key now">
        It is shown only once, because Turnkeep stores only a hash of it. Keep it in the secret store of the server that calls the agent:
        anyone who has it can spend the owner’s balance. If you lose it, rotate the key.
      </Alert>
      <CodeBlock text={shown.api_key} label="API key" />
      <Text>The snippets below read the key from an environment variable. Set it with this command:</Text>
      <CodeBlock text={exportLine(shown.api_key)} label="export command" />
      <CallSnippets agentId={shown.agent_id} permission={shown.permission} />
    </ShownOnce>
  )
}
