/** Formats counts, durations and sizes for people, in the viewer's number format. */

const whole = new Intl.NumberFormat()
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const oneDecimal = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 })

export const writeCount = (count: number): string => whole.format(count)

/** Formats a count for axes and narrow places: 12.3K. */
export const writeShortCount = (count: number): string => compact.format(count)

/** A latency: milliseconds up to a second, then seconds, then minutes. */
export function writeMs(ms: number): string {
  if (ms < 10) return `${oneDecimal.format(ms)} ms`
  if (ms < 1_000) return `${whole.format(Math.round(ms))} ms`
  if (ms < 60_000) return `${oneDecimal.format(ms / 1_000)} s`
  return `${oneDecimal.format(ms / 60_000)} min`
}

/** A duration in its two largest units: "3m 20s". */
export function writeSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60]
  if (days > 0) return `${days}d ${hours}h`
  if (hours > 0) return `${hours}h ${minutes}m`
  if (minutes > 0) return `${minutes}m ${seconds % 60}s`
  return `${seconds}s`
}

/** A size in binary units: 812 B, 3.4 KiB, 12 MiB, 1.5 GiB. */
export function writeBytes(bytes: number): string {
  const kib = bytes / 1_024
  if (kib < 1) return `${bytes} B`
  if (kib >= 1_048_576) return `${oneDecimal.format(kib / 1_048_576)} GiB`
  const [size, unit] = kib < 1_024 ? [kib, 'KiB'] : [kib / 1_024, 'MiB']
  return `${size < 10 ? size.toFixed(1) : whole.format(Math.round(size))} ${unit}`
}

/** From the start of the present run to the end of the turn; null while it runs. Milliseconds. */
export const latencyOf = ({ started_at: from, ended_at: to }: { started_at: string; ended_at: string | null }): number | null =>
  to === null ? null : Date.parse(to) - Date.parse(from)
