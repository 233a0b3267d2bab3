/** The totals of the range. */
import type { Usage } from '../../api/types.ts'
import { ErrorFigure } from '../../show/error-figure.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { writeCount, writeMs } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'

const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
const writeTime = (ms: number | null): string => (ms === null ? '–' : writeMs(ms))

export function Totals({ totals }: { totals: Usage['totals'] }) {
  const { turns } = totals
  const ofTurns = (count: number): string => (turns === 0 ? 'no turns' : `${share.format(count / turns)} of turns`)
  return (
    <Figures>
      <Figure label="Turns" note="ended in this range">
        {writeCount(turns)}
      </Figure>
      <Figure label="Completed" note={ofTurns(totals.completed)}>
        {writeCount(totals.completed)}
      </Figure>
      <Figure label="Cancelled" note="before any text, not errors">
        {writeCount(totals.cancelled)}
      </Figure>
      <ErrorFigure totals={totals} />
      <Figure label="Prompt tokens">{writeCount(totals.prompt_tokens)}</Figure>
      <Figure label="Completion tokens">{writeCount(totals.completion_tokens)}</Figure>
      <Figure label="Charged">
        <Money amount={totals.charged_usd} />
      </Figure>
      <Figure label="Written off" note="cost above the hold, not charged">
        <Money amount={totals.written_off_usd} />
      </Figure>
      <Figure label="Unpaid" note="used by turns without a reply, not charged">
        <Money amount={totals.unpaid_usd} />
      </Figure>
      <Figure label="Latency p50" note="completed turns">
        {writeTime(totals.p50_ms)}
      </Figure>
      <Figure label="Latency p95" note="completed turns">
        {writeTime(totals.p95_ms)}
      </Figure>
      <Figure label="First token p50" note="after admission">
        {writeTime(totals.p50_first_delta_ms)}
      </Figure>
      <Figure label="First token p95" note="after admission">
        {writeTime(totals.p95_first_delta_ms)}
      </Figure>
    </Figures>
  )
}
