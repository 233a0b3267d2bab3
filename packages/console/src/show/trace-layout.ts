/** Places the spans of a trace on one time axis: rows with bars, gaps in which nothing ran, and where a long gap is shortened. Pure. */
import { groupByAttempt } from './trace-attempts.ts'
import type { Span, TracedAttempt, Work } from './trace-attempts.ts'

/** `cancelled`: stopped by the cancel of its turn. `unknown`: it has started and its end is not known. */
type Status = 'ok' | 'failed' | 'cancelled' | 'running' | 'unknown'
type Common = {
  /** Stable while a trace grows, for addresses: `1.1.model.2` is a model call of the second step of run 1, attempt 1. */
  id: string
  name: string
  status: Status
  /** Milliseconds after the admission of the turn. Null: not known. The end of a running span is the present. */
  startMs: number | null
  endMs: number | null
}
export type Row = Common &
  (
    | { kind: 'attempt'; attempt: TracedAttempt }
    | { kind: 'span'; span: Work; firstTextMs: number | null }
    /** Between two attempts. `after`: how the first of them ended. */
    | { kind: 'gap'; after: 'process_died' | 'released' }
  )

/** A part of the axis. A gap that is much longer than the work is drawn shorter. `from` and `to` are parts of the whole width, 0 to 1. */
type Segment = { startMs: number; endMs: number; from: number; to: number; isShortened: boolean }
export type Axis = { startMs: number; endMs: number; segments: Segment[]; ticks: { ms: number; at: number }[] }

/** `nowMs`: the present of a running turn, in milliseconds after its admission. */
export function rowsOf(spans: readonly Span[], nowMs: number | null = null): Row[] {
  const attempts = groupByAttempt(spans)
  const hasRuns = attempts.some(({ run }) => run > 1)
  const ids = new Set<string>()
  const unique = (id: string): string => {
    let [own, number] = [id, 2]
    while (ids.has(own)) own = `${id}.${number++}`
    ids.add(own)
    return own
  }
  return attempts.flatMap((attempt, index) => {
    const work = attempt.work.map((span) => rowOfSpan(attempt, span, unique(idOf(span)), nowMs))
    const head = rowOfAttempt(attempt, work, { hasRuns, nowMs })
    ids.add(head.id)
    const gap = gapBetween(head, attempts[index + 1])
    return [head, ...work, ...(gap ? [gap] : [])]
  })
}

function rowOfAttempt(attempt: TracedAttempt, work: Row[], { hasRuns, nowMs }: { hasRuns: boolean; nowMs: number | null }): Row {
  const { run, attempt: number, end } = attempt
  const starts = work.flatMap(({ startMs }) => startMs ?? [])
  const ends = work.flatMap(({ startMs, endMs }) => endMs ?? startMs ?? [])
  const isRunning = end?.end === 'running'
  // The first attempt starts with the turn, whether or not its process lived to say so.
  const startMs = Math.min(end?.start_ms ?? (run === 1 && number === 1 ? 0 : Infinity), ...starts)
  const own = end ? (end.start_ms ?? -Infinity) + (end.duration_ms ?? -Infinity) : -Infinity
  const endMs = Math.max(own, isRunning && nowMs !== null ? nowMs : -Infinity, ...ends)
  const isFailed = end !== undefined && ['failed', 'released', 'process_died'].includes(end.end)
  const name = number === null ? 'Unknown attempt' : `Attempt ${number}`
  return {
    kind: 'attempt',
    id: `${run}.${number ?? 0}`,
    name: hasRuns ? `Run ${run}, ${name.toLowerCase()}` : name,
    attempt,
    status: isRunning ? 'running' : isFailed ? 'failed' : isCancelled(end, work) ? 'cancelled' : end ? 'ok' : 'unknown',
    startMs: finite(startMs),
    endMs: finite(endMs),
  }
}

/**
 * Of a turn with text, only the call that the cancel stopped says that it was cancelled. If the cancel came between two calls, none does, and
 * the attempt is shown as completed.
 */
const isCancelled = (end: TracedAttempt['end'], work: Row[]): boolean =>
  end?.end === 'cancelled' || work.some(({ status }) => status === 'cancelled')

const finite = (ms: number): number | null => (Number.isFinite(ms) ? ms : null)

function rowOfSpan({ end: attemptEnd }: TracedAttempt, span: Work, id: string, nowMs: number | null): Row {
  const { start_ms: startMs, duration_ms: ms } = span
  const status = isStoppedByCancel(span, attemptEnd) ? 'cancelled' : statusOf(span, nowMs !== null)
  const end = ms !== null ? ms : status === 'running' && startMs !== null ? Math.max(0, (nowMs ?? startMs) - startMs) : 0
  const isInstant = span.type === 'settlement'
  const endMs = startMs === null || (ms === null && status !== 'running' && !isInstant) ? null : startMs + end
  const firstText = span.type === 'model_call' ? span.time_to_first_text_ms : null
  const firstTextMs = startMs === null || firstText === null ? null : startMs + firstText
  return { kind: 'span', id, name: nameOf(span), span, status, startMs, endMs, firstTextMs }
}

function nameOf(span: Work): string {
  switch (span.type) {
    case 'admission':
      return 'Admission'
    case 'retrieval':
      return `Retrieval: ${span.passages.length === 0 ? 'no passages' : span.passages.length === 1 ? '1 passage' : `${span.passages.length} passages`}`
    case 'settlement':
      return 'Settlement'
    case 'model_call':
      return `Model call ${span.step}${span.number !== null && span.number > 1 ? `, try ${span.number}` : ''}`
    case 'tool_call':
      return `Tool ${span.name}`
  }
}

function idOf(span: Work): string {
  const attempt = `${span.run}.${span.attempt ?? 0}`
  switch (span.type) {
    case 'model_call':
      return `${attempt}.model.${span.step}${span.number !== null && span.number > 1 ? `.${span.number}` : ''}`
    case 'tool_call':
      return `${attempt}.tool.${span.step}.${span.part}`
    default:
      return `${attempt}.${span.type}`
  }
}

function statusOf(span: Work, isLive: boolean): Status {
  switch (span.type) {
    case 'model_call':
      if (span.error) return 'failed'
      return span.duration_ms !== null || span.recorded === 'journal' ? 'ok' : isLive ? 'running' : 'unknown'
    case 'tool_call':
      if (span.status === 'running') return 'running'
      return span.status === 'error' || span.status === 'not_made' ? 'failed' : span.status === 'interrupted' ? 'unknown' : 'ok'
    default:
      return 'ok'
  }
}

/** An attempt that a deadline or the end of the process stopped ends without a reply, so a call that was stopped before a reply was cancelled. */
function isStoppedByCancel(span: Work, end: TracedAttempt['end']): boolean {
  if (end?.end !== 'completed' && end?.end !== 'cancelled') return false
  return span.type === 'model_call' ? span.error?.kind === 'stopped' : span.type === 'tool_call' && span.status === 'interrupted'
}

function gapBetween(before: Row, next: TracedAttempt | undefined): Row | undefined {
  if (before.kind !== 'attempt' || !next || before.endMs === null) return undefined
  const nextMs = Math.min(next.end?.start_ms ?? Infinity, ...next.work.flatMap(({ start_ms: ms }) => ms ?? []))
  const end = before.attempt.end?.end
  if (!Number.isFinite(nextMs) || nextMs <= before.endMs || (end !== 'process_died' && end !== 'released')) return undefined
  return {
    kind: 'gap',
    id: `${before.id}.gap`,
    name: end === 'process_died' ? 'Process died' : 'Until the retry',
    after: end,
    status: end === 'process_died' ? 'failed' : 'ok',
    startMs: before.endMs,
    endMs: nextMs,
  }
}

// A gap is shortened if it takes more than half of the time that something ran, and is then drawn as this part of it.
const longGap = 0.5
const shortenedTo = 0.1
// Below this, a gap is never shortened.
const minGapMs = 1_000

/** `endMs`: where the axis ends at least, so that two traces have the same scale. Null if no time is known. */
export function axisOf(rows: readonly Row[], lengthMs = 0): Axis | null {
  const times = rows.flatMap(({ startMs, endMs }) => [startMs ?? [], endMs ?? []].flat())
  if (times.length === 0) return null
  const startMs = Math.min(0, ...times)
  const endMs = Math.max(startMs + Math.max(lengthMs, 1), ...times)
  const segments = segmentsOf(rows, startMs, endMs)
  const busyMs = segments.reduce((sum, { startMs: from, endMs: to, isShortened }) => sum + (isShortened ? 0 : to - from), 0)
  const axis = { startMs, endMs, segments }
  return { ...axis, ticks: ticksOf(axis, niceStep(busyMs / 4)) }
}

function segmentsOf(rows: readonly Row[], startMs: number, endMs: number): Segment[] {
  const gaps = rows.flatMap((row) =>
    row.kind === 'gap' && row.startMs !== null && row.endMs !== null ? [[row.startMs, row.endMs] as const] : [],
  )
  const busyMs = endMs - startMs - gaps.reduce((sum, [from, to]) => sum + to - from, 0)
  const long = gaps.filter(([from, to]) => to - from > Math.max(minGapMs, busyMs * longGap))
  const parts: { startMs: number; endMs: number; isShortened: boolean }[] = []
  let at = startMs
  for (const [from, to] of long) {
    if (from > at) parts.push({ startMs: at, endMs: from, isShortened: false })
    parts.push({ startMs: from, endMs: to, isShortened: true })
    at = to
  }
  if (endMs > at) parts.push({ startMs: at, endMs, isShortened: false })
  const worked = parts.reduce((sum, part) => sum + (part.isShortened ? 0 : part.endMs - part.startMs), 0)
  const widthOf = (part: (typeof parts)[number]): number =>
    part.isShortened ? Math.max(1, worked * shortenedTo) : part.endMs - part.startMs
  const width = parts.reduce((sum, part) => sum + widthOf(part), 0)
  let from = 0
  return parts.map((part) => {
    const to = from + widthOf(part) / width
    const segment = { ...part, from, to }
    from = to
    return segment
  })
}

/** Where a time is on the axis, from 0 to 1. */
export function placeOn({ segments }: Pick<Axis, 'segments'>, ms: number): number {
  const segment = segments.find(({ endMs }) => ms <= endMs) ?? segments.at(-1)!
  const { startMs, endMs, from, to } = segment
  return Math.min(1, Math.max(0, from + ((ms - startMs) / (endMs - startMs)) * (to - from)))
}

function ticksOf(axis: Omit<Axis, 'ticks'>, step: number): Axis['ticks'] {
  const ticks: Axis['ticks'] = []
  for (const { startMs, endMs, isShortened } of axis.segments) {
    if (isShortened) continue
    for (let ms = Math.ceil((startMs - axis.startMs) / step) * step; ms <= endMs - axis.startMs; ms += step)
      ticks.push({ ms, at: placeOn(axis, axis.startMs + ms) })
  }
  return ticks
}

/** 1, 2 or 5 times a power of ten, not below `ms`. */
function niceStep(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)))
  return power * ([1, 2, 5].find((factor) => factor * power >= ms) ?? 10)
}

/** What is shown first: what failed in a turn without a reply, otherwise the last model call. `wanted`: the ID in the address. */
export function chosenRow(rows: readonly Row[], wanted: string | null): Row | undefined {
  const found = rows.find(({ id }) => id === wanted)
  if (found) return found
  const end = rows.findLast(({ kind }) => kind === 'attempt')
  const failed = end?.status === 'failed' ? rows.findLast(({ kind, status }) => kind === 'span' && status === 'failed') : undefined
  return failed ?? rows.findLast((row) => row.kind === 'span' && row.span.type === 'model_call') ?? end
}
