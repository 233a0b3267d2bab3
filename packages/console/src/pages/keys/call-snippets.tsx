/** How to call the agent with a key, in three languages. */
import { Tabs } from '@mantine/core'
import { useSession } from '../../api/session.ts'
import type { Key } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'
import { snippetsFor } from './snippets.ts'

export function CallSnippets({ agentId, permission }: { agentId: string; permission: Key['permission'] }) {
  const session = useSession()
  const apiUrl = session.data?.api_url ?? location.origin
  const snippets = snippetsFor({ apiUrl, agentId, permission })
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List aria-label="Language">
        {snippets.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ id, label, text }) => (
        <Tabs.Panel key={id} value={id} pt="xs">
          <CodeBlock text={text} label={`${label} snippet`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
