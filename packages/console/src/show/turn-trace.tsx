/** The trace of a turn: its spans on one time axis, and the details of the selected one. While the turn runs, it is read again every second. */
import { Alert, Anchor, Skeleton, Stack, Text } from '@mantine/core'
import { Suspense, lazy, useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { segment } from '../api/client.ts'
import { useTrace } from '../api/turns.ts'
import type { TurnTrace as Trace } from '../api/types.ts'
import type { Span } from './trace-attempts.ts'
import { axisOf, chosenRow, rowsOf } from './trace-layout.ts'
import classes from './trace.module.css'
import { Waiting } from './waiting.tsx'
import { Waterfall } from './waterfall.tsx'

/** Loaded with the first trace, because most pages that can show one do not show it at first. */
const SpanDetails = lazy(() => import('./trace-span.tsx').then(({ SpanDetails: details }) => ({ default: details })))

// How often the bars of a running turn grow between two readings.
const growMs = 250

/** `narrow`: the details are below the spans, for a panel beside something else. */
type Layout = 'wide' | 'narrow'

/** With a link to the page of the turn. */
export function TurnTrace({ requestId, layout = 'narrow' }: { requestId: string; layout?: Layout }) {
  const trace = useTrace(requestId)
  return (
    <Waiting for={trace} what="the trace">
      {(read) => (
        <Stack gap="xs">
          <LiveTrace trace={read} readAt={trace.dataUpdatedAt} layout={layout} />
          <Text size="sm">
            <Anchor component={Link} href={`/turns/${segment(requestId)}`} inherit underline="always">
              Open turn
            </Anchor>{' '}
            to compare it or to run it again.
          </Text>
        </Stack>
      )}
    </Waiting>
  )
}

/** `below`: under the spans. */
type ViewProps = { layout: Layout; selected?: string | null; onSelect?: (id: string) => void; below?: ReactNode }
type LiveTraceProps = ViewProps & {
  trace: Trace
  /** When the trace was read, by the clock of the browser. */
  readAt: number
}

export function LiveTrace({ trace: { status, complete, spans }, readAt, ...rest }: LiveTraceProps) {
  const nowMs = usePresent(status === 'running' ? spans : null, readAt)
  return (
    <Stack gap="xs">
      {complete || status === 'running' ? null : <Incomplete />}
      <TraceOfSpans spans={spans} nowMs={nowMs} {...rest} />
    </Stack>
  )
}

/** The spans of a run that is not a stored turn. */
export const Attempts = ({ spans, layout = 'narrow' }: { spans: readonly Span[]; layout?: Layout }) => (
  <TraceOfSpans spans={spans} nowMs={null} layout={layout} />
)

type TraceOfSpansProps = ViewProps & { spans: readonly Span[]; nowMs: number | null }

function TraceOfSpans({ spans, nowMs, layout, selected = null, onSelect, below }: TraceOfSpansProps) {
  const [own, setOwn] = useState<string | null>(null)
  const rows = rowsOf(spans, nowMs)
  const axis = axisOf(rows)
  const chosen = chosenRow(rows, onSelect ? selected : own)
  return (
    <div className={classes['view']} data-layout={layout}>
      <div className={classes['spans']}>
        <Waterfall rows={rows} axis={axis} selected={chosen?.id} onSelect={onSelect ?? setOwn} />
        {below}
      </div>
      <div className={classes['details']}>
        {chosen ? (
          <Suspense fallback={<Skeleton h={240} radius="sm" />}>
            <SpanDetails key={chosen.kind} row={chosen} originMs={axis?.startMs ?? 0} />
          </Suspense>
        ) : (
          <Text size="sm">Nothing is known of this turn.</Text>
        )}
      </div>
    </div>
  )
}

/** Milliseconds after the admission of a running turn, by what was last read and the time since then. Null for `spans` null. */
function usePresent(spans: readonly Span[] | null, readAt: number): number | null {
  const isRunning = spans !== null
  const [now, setNow] = useState(() => Date.now())
  const [firstReadAt] = useState(readAt)
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(Date.now()), growMs)
    return () => clearInterval(timer)
  }, [isRunning])
  if (spans === null) return null
  const times = spans.flatMap(({ start_ms: start, duration_ms: ms }) => (start === null ? [] : start + (ms ?? 0)))
  // What runs in another process is not known, so time passes since it was first shown.
  return Math.max(Math.max(0, ...times) + Math.max(0, now - readAt), now - firstReadAt)
}

const Incomplete = () => (
  <Alert color="gray" variant="light" py="xs">
    <Text size="sm">
      A run of this turn has no stored trace: it is older than TURNKEEP_TRACE_DAYS, traces are off (0), or all attempts died. What the
      journal contains is shown.
    </Text>
  </Alert>
)
