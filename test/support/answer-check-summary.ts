/** For test/run.ts: the folder of the descriptions, and the results of all processes of a run. */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeBoth } from './answer-check-descriptions.ts'
import { operationNames } from './answer-check.ts'
import type { Held } from './answer-check-run.ts'

/** For a whole run, lists the operations that were never called; in strict mode there must be none. */
export type Extent = { isWhole: boolean; isStrict: boolean }

export type ContractRun = {
  /** For TEST_CONTRACT. */
  folder: string
  /** Returns lines to print and whether the run has failed. Deletes the folder. */
  sum(extent: Extent): { lines: string[]; failed: boolean }
}

export async function startContractRun(): Promise<ContractRun> {
  const descriptions = await describeBoth()
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-contract-'))
  writeFileSync(join(folder, 'descriptions.json'), JSON.stringify(descriptions))
  return {
    folder,
    sum(extent) {
      const all = globSync('held-*.json', { cwd: folder }).map((name): Held => JSON.parse(readFileSync(join(folder, name), 'utf8')))
      rmSync(folder, { recursive: true, force: true })
      return sumUp(all, operationNames(descriptions), extent)
    },
  }
}

/** `operations`: of both descriptions. */
export function sumUp(all: Held[], operations: string[], { isWhole, isStrict }: Extent): { lines: string[]; failed: boolean } {
  const answers = all.flatMap(({ counts }) => Object.values(counts)).reduce((sum, count) => sum + count, 0)
  const answered = new Set(all.flatMap(({ counts }) => Object.keys(counts)).map((name) => name.replace(/ \d+$/, '')))
  const never = operations.filter((name) => !answered.has(name))
  const wrong = all.flatMap((one) => one.wrong)
  if (answers === 0 && !isWhole) return { lines: [], failed: false }
  const lines = [
    `contract: ${answers} answers of ${answered.size} of ${operations.length} operations were held against the description`,
    ...(isWhole ? never.map((name) => `contract: never answered: ${name}`) : []),
    ...wrong.slice(0, 20),
  ]
  return { lines, failed: wrong.length > 0 || (isWhole && isStrict && never.length > 0) }
}
