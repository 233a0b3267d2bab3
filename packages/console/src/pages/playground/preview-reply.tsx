/** The reply of a run that is not stored: its text, or the cause of a failure, with tokens, cost and latency. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount, writeMs } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { Busy } from './live-reply.tsx'
import { isGoing } from './previews.ts'
import type { PreviewRun } from './previews.ts'
import { Said } from './said.tsx'
import { StoredBadge } from './setting-bar.tsx'

type PreviewReplyProps = {
  run: PreviewRun
  name: string
  shown: boolean
  onShow(): void
  onRunAgain(): void
  onEdit(): void
}

export function PreviewReply({ run, name, shown, onShow, onRunAgain, onEdit }: PreviewReplyProps) {
  const { preview, failure, state } = run
  return (
    <Said who={name} at={null} text={run.text} badge={<StoredBadge isStored={false} />}>
      <Stack gap="xs" mt={4}>
        {isGoing(run) && run.text === '' ? <Busy text="The agent is replying…" /> : null}
        {state === 'stopped' ? (
          <Text size="sm" role="status">
            Cancelled. Nothing was stored or charged.
          </Text>
        ) : null}
        {failure ? <FailureNote error={failure} title={state === 'lost' ? 'Connection lost' : `No reply: ${failure.code}`} /> : null}
        {preview?.failure ? <FailureNote error={preview.failure.cause} title={`No reply: ${preview.failure.cause_kind}`} /> : null}
        {isGoing(run) ? null : (
          <Group gap="sm">
            {preview ? (
              <Button size="compact-xs" variant={shown ? 'filled' : 'default'} aria-pressed={shown} onClick={onShow}>
                Turn details
              </Button>
            ) : null}
            <Button size="compact-xs" variant="default" onClick={onRunAgain}>
              Run again
            </Button>
            <Button size="compact-xs" variant="default" onClick={onEdit}>
              Edit message
            </Button>
            {preview ? <PreviewFigures preview={preview} took={run.tookMs} /> : null}
          </Group>
        )}
      </Stack>
    </Said>
  )
}

type Read = NonNullable<PreviewRun['preview']>

export const tookOf = ({ spans }: Read): number | null => spans.find(({ type }) => type === 'attempt')?.duration_ms ?? null

function PreviewFigures({ preview, took }: { preview: Read; took: number | null }) {
  return (
    <Text size="xs" component="span" c="dimmed" className="figures">
      {took === null ? '' : `${writeMs(took)} · `}
      <Money amount={preview.cost_usd} /> · {writeCount(preview.usage.total_tokens)} tokens
    </Text>
  )
}
