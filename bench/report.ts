/**
 * The results of a run in a folder: the findings as Markdown, as JSON with the spread of every figure, and as plots. On request also the
 * tables between the marks of docs/performance.md and the plots beside it, so that no figure is typed by hand.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { goalsTable } from './goals.ts'
import { growthTable } from './growth.ts'
import type { Findings, Judged } from './goals.ts'
import { svgOf } from './plot.ts'
import type { Finding, Scenario } from './scenario.ts'
import { sectionOf } from './table.ts'

export type Report = { machine: string; scenarios: Scenario[]; findings: Findings; judged: Judged[] }

const docs = join(import.meta.dirname, '..', 'docs')

export function writeResults(report: Report, folder: string): void {
  const { machine, scenarios, findings, judged } = report
  mkdirSync(folder, { recursive: true })
  const sections = scenarios.map(({ name, sentence }) => `## ${name}\n\n${sentence}\n\n${sectionOf(findings.get(name)!)}\n`)
  const goals = `## Goals\n\n${goalsTable(judged)}\n\n## Growth\n\n${growthTable(findings)}\n`
  writeFileSync(join(folder, 'results.md'), [`# Results\n\n${machine}\n`, ...sections, goals].join('\n'))
  const found = { machine, goals: judged, scenarios: Object.fromEntries(findings) }
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify(found, null, 1)}\n`)
  writePlots(findings, folder)
}

/** The results of an earlier run in `folder`. Throws if there are none. */
export function readResults(folder: string): { machine: string; findings: Map<string, Finding> } {
  const { machine, scenarios } = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8')) as Earlier
  return { machine, findings: new Map(Object.entries(scenarios)) }
}

type Earlier = { machine: string; scenarios: Record<string, Finding> }

/** Sections of scenarios that were not run are unchanged, and so are the goals and docs/growth.md unless all scenarios were run. */
export function writePage({ machine, scenarios, findings, judged }: Report, whole: boolean): void {
  const file = join(docs, 'performance.md')
  let page = readFileSync(file, 'utf8')
  for (const { name } of scenarios) page = between(page, name, `${sectionOf(findings.get(name)!)}\n\n${plotLines(findings, name)}`.trim())
  if (whole) {
    page = between(page, 'goals', goalsTable(judged))
    page = between(page, 'machine', machine)
    const growth = join(docs, 'growth.md')
    writeFileSync(growth, between(readFileSync(growth, 'utf8'), 'growth', growthTable(findings)))
  }
  writeFileSync(file, page)
  writePlots(findings, join(docs, 'performance'))
}

/** Throws if the page does not have these marks, so that no table is lost. */
export function between(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`the page has no ${begin} … ${end}`)
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`
}

const plotLines = (findings: Findings, name: string): string =>
  (findings.get(name)!.plots ?? []).map(({ file, title }) => `![${title}](performance/${file}.svg)`).join('\n')

function writePlots(findings: Findings, folder: string): void {
  const plots = [...findings.values()].flatMap((finding) => finding.plots ?? [])
  if (plots.length > 0) mkdirSync(folder, { recursive: true })
  for (const plot of plots) writeFileSync(join(folder, `${plot.file}.svg`), svgOf(plot))
}
