/** docs/mutants.md: the table that a whole run prints, written and compared here alone. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

const head = `# Mutants

What each test is worth: for every rule of [rules.md](rules.md) the change that takes its enforcement away, and the test that turns red
because of it. \`npm run mutants\` plants each of them in a copy of the source, one at a time; one that no test notices fails the run, and
so does one that fits the source no more. Written by \`npm run mutants -- --write\`; the seconds are those of that run.

| rule | what the mutant removes | test that notices | seconds |
|---|---|---|---|
`

export function writeTable(root: string, mutants: Mutant[], seconds: Map<Mutant, number>): void {
  const rows = mutants.map((mutant) => `${rowOf(mutant)} ${seconds.get(mutant)?.toFixed(1) ?? '–'} |\n`)
  writeFileSync(fileOf(root), head + rows.join(''))
}

/** Whether the kept table says what the mutants say, whatever the seconds are. */
export function tableFits(root: string, mutants: Mutant[]): boolean {
  const kept = readFileSync(fileOf(root), 'utf8').replace(/ [\d.–]+ \|$/gm, '')
  return kept.trimEnd() === (head + mutants.map(rowOf).join('\n')).trimEnd()
}

const rowOf = ({ rule, removes, caughtBy }: Mutant): string =>
  `| \`${rule}\` | ${cell(removes)} | \`test/${caughtBy.file}\`: ${cell(caughtBy.title)} |`

const cell = (text: string): string => text.replaceAll('|', '\\|')
const fileOf = (root: string): string => join(root, 'docs/mutants.md')
