/** The cost, tokens and times of a turn. */
import { Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Turn } from '../api/types.ts'
import { latencyOf, writeCount, writeMs } from './measures.ts'
import { Money } from './money.tsx'

export function TurnFigures({ turn }: { turn: Turn }) {
  const { usage } = turn
  const took = latencyOf(turn)
  const lost = turn.written_off_usd !== null && /[1-9]/.test(turn.written_off_usd) ? turn.written_off_usd : null
  return (
    <dl style={{ margin: 0 }}>
      <Figure name="Charge">{usage ? <Money amount={usage.charged_usd} /> : turn.status === 'running' ? 'Pending' : 'None'}</Figure>
      <Figure name="Hold">{/[1-9]/.test(turn.held_usd) ? <Money amount={turn.held_usd} /> : 'Returned'}</Figure>
      {lost === null ? null : (
        <Figure name="Written off">
          <Money amount={lost} />
        </Figure>
      )}
      <Figure name="Tokens">
        {usage ? `${writeCount(usage.prompt_tokens)} in, ${writeCount(usage.completion_tokens)} out` : '–'}
        {usage?.estimated ? ' (estimated)' : ''}
      </Figure>
      <Figure name="Latency">{took === null ? '–' : writeMs(took)}</Figure>
      <Figure name="Time to first token">{turn.first_delta_ms === null ? '–' : writeMs(turn.first_delta_ms)}</Figure>
      <Figure name="Agent version">{turn.agent_version}</Figure>
      {turn.run > 1 || turn.attempts > 1 ? (
        <Figure name="Run, attempt">
          {turn.run}, {turn.attempts}
        </Figure>
      ) : null}
    </dl>
  )
}

const Figure = ({ name, children }: { name: string; children: ReactNode }) => (
  <Group justify="space-between" gap="xs" wrap="nowrap">
    <Text size="sm" c="dimmed" component="dt">
      {name}
    </Text>
    <Text size="sm" component="dd" m={0} ta="right" className="figures">
      {children}
    </Text>
  </Group>
)
