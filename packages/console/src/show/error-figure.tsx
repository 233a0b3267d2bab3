/** How many runs ended without a reply, of how many, and why. Red as soon as there is one. */
import type { Usage } from '../api/types.ts'
import { Figure } from './figure.tsx'
import { writeCount } from './measures.ts'

const share = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
/** The rest is in the chart "Errors by cause". */
const maxCauses = 3

export function ErrorFigure({ totals: { completed, errors, errors_by_cause: byCause } }: { totals: Usage['totals'] }) {
  const causes = causesOf(byCause).map(([cause, count]) => `${cause} ${writeCount(count)}`)
  const more = causes.length > maxCauses ? ', …' : ''
  const note = `${share.format(errors / (completed + errors))} of runs: ${causes.slice(0, maxCauses).join(', ')}${more}`
  return (
    <Figure label="Errors" note={errors === 0 ? 'runs without a reply' : note} alarming={errors > 0}>
      {writeCount(errors)}
    </Figure>
  )
}

/** The most frequent first. */
export const causesOf = (byCause: Usage['totals']['errors_by_cause']): [string, number][] =>
  Object.entries(byCause).toSorted(([, one], [, other]) => other - one)
