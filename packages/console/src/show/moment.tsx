/** A time in the viewer's time zone. The hint and the machine-readable text have the full value. */
import { Text, Tooltip } from '@mantine/core'

const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })

export function Moment({ at }: { at: string | null }) {
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
        {short.format(date)}
      </Text>
    </Tooltip>
  )
}
