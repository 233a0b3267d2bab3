/** Writes and checks docs/mutants.md; no other module does. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutant.ts'

const head = `# Mutants

What each test is worth: for every rule of [rules.md](rules.md), the change that takes its enforcement away and the test that fails because of
it. \`npm run mutants\` plants each change in a copy of the source, one at a time. A mutant that no test notices fails the run, and so does
one that no longer fits the source.

A mutant that was seen red is not run again until something that decides its verdict changes: its definition, the files it edits, its test,
any file of the repository that these reach by an import or another path written in them, the code that runs mutants, \`package-lock.json\`, or
the Node version. Not seen are changes inside \`node_modules\` without the lockfile, the versions of PostgreSQL and Redis, the machine, and
paths that code puts together from pieces. \`npm run mutants -- --no-cache\` runs every mutant regardless. Only red verdicts are cached, in
\`node_modules/.cache/turnkeep-mutants\`.

\`npm run mutants -- --write\` writes this page once all mutants are red.

| rule | what the mutant removes | test that notices |
|---|---|---|
`

export function writeTable(root: string, mutants: Mutant[]): void {
  writeFileSync(fileOf(root), pageOf(mutants))
}

/** Whether docs/mutants.md matches the mutants. */
export function tableFits(root: string, mutants: Mutant[]): boolean {
  return readFileSync(fileOf(root), 'utf8') === pageOf(mutants)
}

const pageOf = (mutants: Mutant[]): string => head + mutants.map((mutant) => `${rowOf(mutant)}\n`).join('')

const rowOf = ({ rule, removes, caughtBy }: Mutant): string =>
  `| \`${rule}\` | ${cell(removes)} | \`test/${caughtBy.file}\`: ${cell(caughtBy.title)} |`

const cell = (text: string): string => text.replaceAll('|', '\\|')
const fileOf = (root: string): string => join(root, 'docs/mutants.md')
