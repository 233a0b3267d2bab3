/** Writes a time as people say it: "3 minutes ago", and the date if it is more than a week away. */
const units: { unit: Intl.RelativeTimeFormatUnit; ms: number; until: number }[] = [
  { unit: 'minute', ms: 60_000, until: 3_600_000 },
  { unit: 'hour', ms: 3_600_000, until: 86_400_000 },
  { unit: 'day', ms: 86_400_000, until: 7 * 86_400_000 },
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' })
const sameYear = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })
const otherYear = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/** `now` in milliseconds. Less than a minute in either direction is "just now" or "in a moment". */
export function writeRelative(at: Date, now: number): string {
  const difference = at.getTime() - now
  const distance = Math.abs(difference)
  if (distance < 60_000) return difference > 30_000 ? 'in a moment' : 'just now'
  const unit = units.find(({ until }) => distance < until)
  if (unit) return relative.format(Math.trunc(difference / unit.ms), unit.unit)
  return (at.getFullYear() === new Date(now).getFullYear() ? sameYear : otherYear).format(at)
}

const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

/** After "since": the time of today, otherwise the day. `now` in milliseconds. */
export function writeSince(at: Date, now: number): string {
  const today = new Date(now)
  if (at.toDateString() === today.toDateString()) return `${timeOfDay.format(at)} today`
  return (at.getFullYear() === today.getFullYear() ? sameYear : otherYear).format(at)
}
