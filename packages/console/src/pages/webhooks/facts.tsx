/** What the list and the page of a webhook show of it. */
import { Badge } from '@mantine/core'

export const writeEvents = (events: string[]): string => (events.includes('*') ? 'All events' : events.join(', '))

export const EnabledState = ({ enabled }: { enabled: boolean }) => (
  <Badge variant="outline" color={enabled ? 'teal' : 'gray'}>
    {enabled ? 'Enabled' : 'Disabled'}
  </Badge>
)
