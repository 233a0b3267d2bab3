/**
 * The table of clients/README.md: the outcome of each scenario on each client. Writes it, and reads which scenarios and clients it names.
 */
import type { Outcome } from './run-scenario.ts'

const [first, last] = ['<!-- table: node test/clients/run-scenarios.ts --write -->', '<!-- end of table -->']

export type Column = { client: string; outcomes: Outcome[] }

export function writeTable(columns: Column[]): string {
  const names = columns[0]?.outcomes.map(({ scenario }) => scenario) ?? []
  const cell = ({ outcomes }: Column, name: string): string => {
    const outcome = outcomes.find(({ scenario }) => scenario === name)
    if (outcome === undefined) return ''
    const { problems, requests, seconds } = outcome
    return `${problems.length === 0 ? 'passed' : '**failed**'}, ${requests} ${requests === 1 ? 'request' : 'requests'}, ${seconds.toFixed(1)} s`
  }
  const rows = [
    ['scenario', ...columns.map(({ client }) => client)],
    ['---', ...columns.map(() => '---')],
    ...names.map((name) => [name, ...columns.map((column) => cell(column, name))]),
  ]
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** The page with another table. */
export function replaceTable(page: string, table: string): string {
  const [from, to] = [page.indexOf(first), page.indexOf(last)]
  if (from === -1 || to === -1) throw new Error(`the page has no ${first} … ${last}`)
  return `${page.slice(0, from + first.length)}\n\n${table}\n\n${page.slice(to)}`
}

export function readTable(page: string): { clients: string[]; rows: { scenario: string; cells: string[] }[] } {
  const lines = page.slice(page.indexOf(first), page.indexOf(last)).split('\n')
  const [head = [], , ...rows] = lines.filter((line) => line.startsWith('| ')).map((line) => line.slice(2, -2).split(' | '))
  return { clients: head.slice(1), rows: rows.map(([scenario = '', ...cells]) => ({ scenario, cells })) }
}
