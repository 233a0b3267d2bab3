/** Small parts of the details of a span: named facts on one line each, and an error in red. */
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './trace.module.css'

type FactsProps = { facts: readonly (readonly [name: string, value: ReactNode])[]; note?: string }

export const Facts = ({ facts, note }: FactsProps) => (
  <div>
    <dl style={{ display: 'grid', gridTemplateColumns: 'max-content minmax(0, 1fr)', gap: '4px 16px', margin: 0 }}>
      {facts.map(([name, value]) => (
        <div key={name} style={{ display: 'contents' }}>
          <Text component="dt" size="sm" c="dimmed">
            {name}
          </Text>
          <Text component="dd" m={0} size="sm" className="as-written" style={{ fontVariantNumeric: 'tabular-nums' }}>
            {value}
          </Text>
        </div>
      ))}
    </dl>
    {note === undefined ? null : (
      <Text size="xs" c="dimmed" mt={6}>
        {note}
      </Text>
    )}
  </div>
)

/** `kind`: of the cause, from a closed list. The message may be that of a provider. */
export const SpanError = ({ kind, message }: { kind: string | null; message: string }) => (
  <div className={classes['failure']}>
    {kind === null ? null : (
      <Text size="xs" ff="monospace" fw={600} c="var(--tk-bad)">
        {kind}
      </Text>
    )}
    <Text size="sm" className="as-written" c="var(--tk-ink)">
      {message}
    </Text>
  </div>
)
