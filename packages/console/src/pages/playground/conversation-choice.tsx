/** Selects a conversation: each end user has one, and a new one starts another. Input applies on blur or Enter. Rendered in a toolbar. */
import { ActionIcon, Autocomplete, Tooltip } from '@mantine/core'
import { IconPlus, IconUser } from '@tabler/icons-react'
import { randomId } from '../../api/random-id.ts'
import { useDraft } from '../../show/use-draft.ts'
import classes from './playground.module.css'
import { usePlayedUsers } from './stored-conversation.ts'

type ConversationChoiceProps = { agentId: string; user: string; onChoose(user: string): void }

// The limit of the API: docs/spec.md, "Sending a message".
const maxId = 255

export function ConversationChoice({ agentId, user, onChoose }: ConversationChoiceProps) {
  const [draft, setDraft] = useDraft(user)
  const played = usePlayedUsers(agentId)
  const choose = (chosen: string): void => {
    if (chosen === '') setDraft(user)
    else if (chosen !== user) onChoose(chosen)
  }
  return (
    <>
      <Autocomplete
        aria-label="End user ID"
        leftSection={<IconUser size={15} aria-hidden="true" />}
        data={played}
        value={draft}
        onChange={setDraft}
        onOptionSubmit={choose}
        onBlur={() => choose(draft)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) choose(draft)
        }}
        filter={({ options }) => options}
        maxLength={maxId}
        className={classes['user']}
      />
      <Tooltip label="New conversation">
        <ActionIcon variant="default" size={36} aria-label="New conversation" onClick={() => onChoose(`playground-${randomId(4)}`)}>
          <IconPlus size={16} aria-hidden="true" />
        </ActionIcon>
      </Tooltip>
    </>
  )
}
