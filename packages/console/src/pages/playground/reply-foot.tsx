/** The usage of a reply in one line, and the button that shows its turn next to the conversation. */
import { Button, Group, Text } from '@mantine/core'
import type { Message } from '../../api/types.ts'
import { writeCount, writeMs } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'

type ReplyFootProps = {
  message: Message | undefined
  shown: boolean
  onShow(): void
  /** In milliseconds, if it is known. */ took?: number | null
}

export function ReplyFoot({ message, shown, onShow, took = null }: ReplyFootProps) {
  const usage = message?.turn.usage
  const calls = message?.tool_calls.length ?? 0
  const passages = message?.citations.length ?? 0
  return (
    <Group gap="sm" mt={4}>
      <Button size="compact-xs" variant={shown ? 'filled' : 'default'} aria-pressed={shown} onClick={onShow}>
        Turn details
      </Button>
      {usage ? (
        <Text size="xs" component="span" c="dimmed" className="figures">
          {took === null ? '' : `${writeMs(took)} · `}
          <Money amount={usage.charged_usd} /> · {writeCount(usage.total_tokens)} tokens
        </Text>
      ) : null}
      {passages > 0 ? <Text size="xs">{passages === 1 ? '1 passage' : `${passages} passages`}</Text> : null}
      {calls > 0 ? <Text size="xs">{calls === 1 ? '1 tool call' : `${calls} tool calls`}</Text> : null}
    </Group>
  )
}
