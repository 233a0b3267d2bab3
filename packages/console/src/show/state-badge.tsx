/** The state of a turn or the status of a document: a word, an icon and a color, with its meaning as a hint. */
import { Badge, Tooltip } from '@mantine/core'
import type { Document, Turn } from '../api/types.ts'

type State = Turn['status'] | Document['status']
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

export type ReplyEnd = Pick<Turn, 'incomplete' | 'finish_reason'>

const ends = {
  length: {
    word: 'Cut off at the token limit',
    mark: '✂',
    color: 'yellow',
    means: 'The model reached its output limit. The text so far is the reply. Raise the max output tokens of the agent for longer replies.',
  },
  filtered: {
    word: 'Cut off by a content filter',
    mark: '✂',
    color: 'yellow',
    means: 'A content filter of the provider ended the text. The text so far is the reply.',
  },
  refused: { word: 'Refused', mark: '✕', color: 'gray', means: 'The model refused. The reply is its refusal.' },
  cancelled: { ...shown.cancelled, means: 'The text so far is the reply, marked as incomplete, and it was charged.' },
} as const

/** How the reply of a completed turn ended, unless the model had finished. */
export function endOfReply({ incomplete, finish_reason: finish }: ReplyEnd): keyof typeof ends | undefined {
  if (finish === 'stop') return undefined
  return finish ?? (incomplete ? 'cancelled' : undefined)
}

/** What the end of a reply means, in one or two sentences. */
export const meaningOfEnd = (end: keyof typeof ends): string => ends[end].means

/** Beside the state of a turn, which is completed. Nothing for a reply that the model had finished. */
export function ReplyEndBadge({ of }: { of: ReplyEnd }) {
  const end = endOfReply(of)
  if (!end) return null
  const { word, mark, color, means } = ends[end]
  return (
    <Tooltip label={means} multiline maw={320}>
      <Badge variant="light" color={color} tabIndex={0} leftSection={<span aria-hidden="true">{mark}</span>}>
        {word}
      </Badge>
    </Tooltip>
  )
}
