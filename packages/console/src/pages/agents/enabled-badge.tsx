/** Whether an agent takes new turns, in a word. */
import { Badge } from '@mantine/core'

export function EnabledBadge({ enabled }: { enabled: boolean }) {
  return enabled ? (
    <Badge variant="outline" color="teal" miw="max-content" leftSection={<span aria-hidden="true">●</span>}>
      On
    </Badge>
  ) : (
    <Badge variant="outline" color="gray" miw="max-content" leftSection={<span aria-hidden="true">○</span>}>
      Off
    </Badge>
  )
}
