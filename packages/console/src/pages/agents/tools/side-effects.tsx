/** Whether a call of a tool may change something, in words. */
import { Badge, Tooltip } from '@mantine/core'

export function SideEffects({ has }: { has: boolean }) {
  return (
    <Tooltip
      label={
        has
          ? 'A call is made at most once, whatever breaks. One that has begun when a process dies ends its turn as failed.'
          : 'A call may be made again after a crash, under the same Idempotency-Key.'
      }
    >
      <Badge variant="outline" color={has ? 'orange' : 'gray'} tabIndex={0}>
        {has ? 'may change things' : 'only reads'}
      </Badge>
    </Tooltip>
  )
}
