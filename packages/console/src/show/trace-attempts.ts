/** Groups the spans of a trace by attempt, and puts what each attempt did in order. Pure. */
import type { TurnTrace } from '../api/types.ts'

export type Span = TurnTrace['spans'][number]
export type SpanOf<Type extends Span['type']> = Extract<Span, { type: Type }>
export type Work = Exclude<Span, { type: 'attempt' }>

/** `end` is missing for what an unknown attempt did. */
export type TracedAttempt = { run: number; attempt: number | null; end: SpanOf<'attempt'> | undefined; work: Work[] }

/** What is known from the journal can be listed before the attempt that did it. A span without a time keeps its position. */
export function groupByAttempt(spans: readonly Span[]): TracedAttempt[] {
  return [...Map.groupBy(spans, ({ run, attempt }) => `${run}-${attempt}`).values()].map((own) => {
    const { run, attempt } = own[0]!
    let before = -Infinity
    const timed = own.filter((span) => span.type !== 'attempt').map((span) => ({ span, at: (before = span.start_ms ?? before) }))
    const sorted = timed.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
    return { run, attempt, end: own.find((span) => span.type === 'attempt'), work: sorted.map(({ span }) => span) }
  })
}
