/** Whether an agent accepts new turns, in a word. */
import { Badge } from '@mantine/core'

export function EnabledBadge({ enabled }: { enabled: boolean }) {
  return enabled ? (
    <Badge color="teal" leftSection={<span aria-hidden="true">●</span>}>
      Enabled
    </Badge>
  ) : (
    <Badge color="gray" leftSection={<span aria-hidden="true">○</span>}>
      Disabled
    </Badge>
  )
}
