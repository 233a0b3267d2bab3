/** Above a transcript: how much of it is loaded, a field that finds a text in it, and buttons to its beginning and its end. */
import { ActionIcon, Button, Group, Text, TextInput, Tooltip } from '@mantine/core'
import { IconArrowBarToDown, IconArrowBarToUp, IconChevronDown, IconChevronUp, IconSearch } from '@tabler/icons-react'
import type { Icon } from '@tabler/icons-react'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount } from '../../show/measures.ts'
import { useDraft } from '../../show/use-draft.ts'
import style from './chat.module.css'
import { useReadAll } from './use-read-all.ts'
import type { Messages } from './use-messages.ts'

/** `matches`: in what is loaded; null if no text is searched for. */
type BarProps = {
  messages: Messages
  wanted: string
  matches: number | null
  onJump: (to: 'oldest' | 'newest') => void
  onFind: (text: string) => void
  onMatch: (step: 1 | -1) => void
}

export function MessageBar({ messages, wanted, matches, onJump, onFind, onMatch }: BarProps) {
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, error, fetchNextPage } = messages
  const { reading, readAll, stop } = useReadAll(messages, () => onJump('oldest'))
  const loaded = data?.pages.reduce((sum, page) => sum + page.data.length, 0) ?? 0
  return (
    <div className={style['bar']}>
      <Group gap="xs" justify="space-between">
        <Find wanted={wanted} matches={matches} onFind={onFind} onMatch={onMatch} />
        <Group gap={6}>
          <Text size="xs" c="dimmed" component="output">
            {loaded === 0
              ? 'No messages stored'
              : hasNextPage
                ? `Newest ${writeCount(loaded)} messages loaded`
                : `All ${writeCount(loaded)} messages loaded`}
          </Text>
          {reading ? (
            <Button size="compact-xs" variant="default" onClick={stop}>
              Stop loading
            </Button>
          ) : hasNextPage ? (
            <Button size="compact-xs" variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load older messages
            </Button>
          ) : null}
          <Jump label="Jump to oldest" icon={IconArrowBarToUp} onClick={readAll} />
          <Jump label="Jump to newest" icon={IconArrowBarToDown} onClick={() => onJump('newest')} />
        </Group>
      </Group>
      {isFetchNextPageError ? (
        <FailureNote error={error} title="Could not load older messages" onRetry={() => void fetchNextPage()} />
      ) : null}
    </div>
  )
}

const Jump = ({ label, icon: Icon, onClick }: { label: string; icon: Icon; onClick: () => void }) => (
  <Tooltip label={label}>
    <ActionIcon size="sm" variant="default" aria-label={label} onClick={onClick}>
      <Icon size={14} stroke={1.8} aria-hidden="true" />
    </ActionIcon>
  </Tooltip>
)

function Find({ wanted, matches, onFind, onMatch }: Pick<BarProps, 'wanted' | 'matches' | 'onFind' | 'onMatch'>) {
  const [text, setText] = useDraft(wanted)
  return (
    <search aria-label="In this conversation">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (text.trim() !== wanted) onFind(text.trim())
          else if (wanted !== '') onMatch(-1)
        }}
      >
        <Group gap={6}>
          <TextInput
            size="xs"
            w={190}
            aria-label="Find in conversation"
            placeholder="Find in conversation"
            leftSection={<IconSearch size={14} stroke={1.8} aria-hidden="true" />}
            autoComplete="off"
            maxLength={200}
            value={text}
            onChange={({ currentTarget: { value } }) => setText(value)}
          />
          {matches === null ? null : (
            <>
              <Text size="xs" c="dimmed" role="status">
                {matches === 1 ? '1 message' : `${writeCount(matches)} messages`}
              </Text>
              <Jump label="Previous match" icon={IconChevronUp} onClick={() => onMatch(-1)} />
              <Jump label="Next match" icon={IconChevronDown} onClick={() => onMatch(1)} />
            </>
          )}
        </Group>
      </form>
    </search>
  )
}
