/** Whether a call of a tool may change something, in words. */
import { Badge, Tooltip } from '@mantine/core'

export function SideEffects({ has }: { has: boolean }) {
  return (
    <Tooltip
      label={
        has
          ? 'Each call is made at most once. If the server stops during a call, the turn fails.'
          : 'A call can be repeated after a crash, with the same Idempotency-Key.'
      }
    >
      <Badge color={has ? 'orange' : 'gray'} tabIndex={0}>
        {has ? 'Side effects' : 'Read-only'}
      </Badge>
    </Tooltip>
  )
}
