/** How to call the agent with a key, in three languages. */
import { useSession } from '../../api/session.ts'
import type { Key } from '../../api/types.ts'
import { SnippetTabs } from './snippet-tabs.tsx'
import { snippetsFor } from './snippets.ts'

export function CallSnippets({ agentId, permission }: { agentId: string; permission: Key['permission'] }) {
  const session = useSession()
  const apiUrl = session.data?.session.api_url ?? location.origin
  return <SnippetTabs label="Language" snippets={snippetsFor({ apiUrl, agentId, permission })} />
}
