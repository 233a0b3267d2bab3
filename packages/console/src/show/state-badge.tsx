/** The state of a turn or the status of a document: a word, an icon and a color, with its meaning as a hint. */
import { Badge, Tooltip } from '@mantine/core'
import type { Document, Turn } from '../api/types.ts'

type State = Turn['state'] | Document['status']
type Shown = { word: string; mark: string; color: string; means: string }

const shown: Record<State, Shown> = {
  running: { word: 'Running', mark: '●', color: 'blue', means: 'The agent is working on the reply.' },
  completed: { word: 'Completed', mark: '✓', color: 'teal', means: 'The reply was stored and charged.' },
  failed: { word: 'Failed', mark: '✕', color: 'red', means: 'Ended without a result. Nothing was charged.' },
  released: {
    word: 'Released',
    mark: '↺',
    color: 'red',
    means: 'Ended without a reply for a temporary reason, so the caller can retry it. Nothing was charged.',
  },
  cancelled: {
    word: 'Cancelled',
    mark: '■',
    color: 'gray',
    means: 'Cancelled by the caller or an operator before there was any text. Only finished tool calls that have a price were charged.',
  },
  queued: { word: 'Queued', mark: '…', color: 'gray', means: 'Waiting to be indexed.' },
  indexing: { word: 'Indexing', mark: '●', color: 'blue', means: 'The text is being split into chunks and indexed.' },
  ready: { word: 'Ready', mark: '✓', color: 'teal', means: 'Indexed and searchable.' },
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

/** For a turn that was cancelled after some text. Its state is completed. */
export function IncompleteBadge() {
  return (
    <Tooltip label="The text so far is the reply, marked as incomplete, and it was charged.">
      <Badge variant="light" color="gray" tabIndex={0} leftSection={<span aria-hidden="true">{shown.cancelled.mark}</span>}>
        {shown.cancelled.word}
      </Badge>
    </Tooltip>
  )
}
