/** The time at which something started: the time of day if that is today, otherwise the day. The hint has the exact time. */
import { Text, Tooltip } from '@mantine/core'
import { useNow } from './now.tsx'
import { writeSince } from './relative-time.ts'

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

export function Since({ at }: { at: string }) {
  const now = useNow()
  return (
    <Tooltip label={`${whole.format(new Date(at))} · ${at}`}>
      <Text component="time" inherit dateTime={at} className="figures" tabIndex={0}>
        {writeSince(new Date(at), now)}
      </Text>
    </Tooltip>
  )
}
