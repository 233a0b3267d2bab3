/** A time as its distance from now. The hint has the exact time in the viewer's time zone and in UTC. */
import { Text, Tooltip } from '@mantine/core'
import { useNow } from './now.tsx'
import { writeRelative } from './relative-time.ts'

const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

/** `exact`: the date and the time, where the order of entries within a day matters. */
export function Moment({ at, exact = false }: { at: string | null; exact?: boolean }) {
  const now = useNow()
  if (at === null)
    return (
      <Text span inherit c="dimmed">
        –
      </Text>
    )
  const date = new Date(at)
  return (
    <Tooltip label={`${whole.format(date)} · ${at}`}>
      <Text component="time" inherit dateTime={at} className="figures" tabIndex={0}>
        {exact ? short.format(date) : writeRelative(date, now)}
      </Text>
    </Tooltip>
  )
}
