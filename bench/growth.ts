/** Cost against size: what a turn costs when one thing grows, from the findings of several scenarios, as one table. Pure. */
import { onPostgres } from './contenders.ts'
import { us } from './goals.ts'
import type { Findings, Labels } from './goals.ts'
import { headings } from './spread.ts'
import { markdown, write, writeSpread } from './table.ts'

/** `size`: the label that grows, in rows with the labels `of`. */
type Growing = { what: string; scenario: string; of: Labels; size: string }

const onEachStore = (growing: Growing): Growing[] =>
  ['SQLite', 'PostgreSQL'].map((store) => ({ ...growing, what: `${growing.what}, ${store}`, of: { ...growing.of, store } }))

const dimensions: Growing[] = [
  { what: 'callers that wait for their reply', scenario: 'sync', of: { server: us }, size: 'callers' },
  { what: 'callers that wait for their reply, PostgreSQL', scenario: 'sync', of: { server: onPostgres }, size: 'callers' },
  { what: 'callers of a stream without delay', scenario: 'stream', of: { server: us }, size: 'callers' },
  { what: 'callers of a paced stream', scenario: 'paced', of: { server: us, begin: 'spread' }, size: 'callers' },
  ...onEachStore({ what: 'stored turns', scenario: 'filled', of: {}, size: 'turns' }),
  ...onEachStore({ what: 'length of the conversation', scenario: 'long-conversation', of: {}, size: 'turn' }),
  { what: 'documents of the agent', scenario: 'retrieval', of: {}, size: 'documents' },
  ...onEachStore({ what: 'owners who share the turns', scenario: 'owners', of: {}, size: 'owners' }),
  { what: 'processes on one PostgreSQL', scenario: 'processes', of: {}, size: 'processes' },
]

const columns = [headings.rate, headings.cpu, headings.databaseCpu, headings.p50] as const

/** Sizes of what was not measured are missing. */
export function growthTable(findings: Findings): string {
  const lines = dimensions.flatMap(({ what, scenario, of, size }) =>
    (findings.get(scenario)?.rows ?? [])
      .filter(({ labels }) => Object.entries(of).every(([name, value]) => labels[name] === value))
      .map(({ labels, figures }) => [
        what,
        typeof labels[size] === 'number' ? write(labels[size]) : (labels[size] ?? ''),
        ...columns.map((column) => (figures[column] ? writeSpread(figures[column]) : '')),
      ]),
  )
  return markdown(['what grows', 'size', ...columns], lines)
}
