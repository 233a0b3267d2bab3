/** The settings of an agent, and its deletion. Leaving the agent with unsaved settings asks first. */
import { Allowed, ReadOnlyUnless } from '../../../show/allowed.tsx'
import type { Agent } from '../../../api/types.ts'
import { AgentEditor } from './agent-editor.tsx'
import { DeleteAgent } from './delete-agent.tsx'
import { LeaveGuard } from '../../../show/leave-guard.tsx'

type SettingsProps = { agent: Agent; unsaved: boolean; onUnsaved(unsaved: boolean): void }

export function SettingsTab({ agent, unsaved, onUnsaved }: SettingsProps) {
  return (
    <ReadOnlyUnless permission="agents">
      <AgentEditor agent={agent} unsaved={unsaved} onUnsaved={onUnsaved} />
      <Allowed permission="agents">
        <DeleteAgent agent={agent} />
      </Allowed>
      <LeaveGuard unsaved={unsaved} within={`/agents/${agent.id}`} />
    </ReadOnlyUnless>
  )
}
