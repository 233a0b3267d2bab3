/** The state of a turn or the status of a document, in a word, with a mark and a colour beside it, and what it means as a hint. */
import { Badge, Tooltip } from '@mantine/core'
import type { Document, Turn } from '../api/types.ts'

type State = Turn['state'] | Document['status']
type Shown = { word: string; mark: string; color: string; means: string }

const shown: Record<State, Shown> = {
  running: { word: 'Running', mark: '●', color: 'blue', means: 'It is being answered.' },
  completed: { word: 'Completed', mark: '✓', color: 'teal', means: 'Answered, stored and charged.' },
  failed: { word: 'Failed', mark: '✕', color: 'red', means: 'It ended without a result; nothing was charged.' },
  released: {
    word: 'Released',
    mark: '↺',
    color: 'yellow',
    means: 'It ended without a reply for a reason that may pass; a retry runs it again. Nothing was charged.',
  },
  queued: { word: 'Queued', mark: '…', color: 'gray', means: 'It waits to be indexed.' },
  indexing: { word: 'Indexing', mark: '●', color: 'blue', means: 'Its text is being read and cut into passages.' },
  ready: { word: 'Ready', mark: '✓', color: 'teal', means: 'Its passages can be found.' },
}

export function StateBadge({ state }: { state: State }) {
  const { word, mark, color, means } = shown[state]
  return (
    <Tooltip label={means}>
      <Badge variant="light" color={color} leftSection={<span aria-hidden="true">{mark}</span>}>
        {word}
      </Badge>
    </Tooltip>
  )
}
