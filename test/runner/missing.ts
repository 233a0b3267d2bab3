/** The programs that the tests of a run need and that are not installed here. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium } from '../support/chromium.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { noRedis } from '../support/redis-server.ts'
import type { Pass } from './failed.ts'

export type Program = {
  name: string
  isMissing(): boolean
  /** In the text of every file that uses it. */
  word: RegExp
  /** Whether every test on PostgreSQL uses it. */
  isOfStore: boolean
  /** The packages of Debian and Ubuntu, and of Homebrew. */
  apt: string
  brew: string
}

export const programs: Program[] = [
  {
    name: 'PostgreSQL',
    isMissing: () => noPostgres() !== false,
    word: /postgres/,
    isOfStore: true,
    apt: 'postgresql',
    brew: 'postgresql@17',
  },
  { name: 'Redis', isMissing: () => noRedis() !== false, word: /redis/, isOfStore: true, apt: 'redis-server', brew: 'valkey' },
  {
    name: 'Chromium',
    isMissing: () => findChromium() === undefined,
    word: /\b(?:openConsole|noConsole|noBrowser)\b/,
    isOfStore: false,
    apt: 'chromium fonts-liberation',
    brew: 'google-chrome',
  },
]

const root = join(import.meta.dirname, '../..')

export function missingPrograms(passes: Pass[], known = programs): Program[] {
  const texts = passes.flatMap(({ files }) => files).map((file) => readFileSync(join(root, file), 'utf8'))
  const isUsed = ({ word, isOfStore }: Program): boolean =>
    (isOfStore && passes.some(({ store }) => store === 'postgres')) || texts.some((text) => word.test(text))
  return known.filter((program) => program.isMissing() && isUsed(program))
}

const namesOf = (missing: Program[]): string => missing.map(({ name }) => name).join(', ')

/** Returns the line for the start of the run: what is missing, and how to install it. */
export function missingLines(missing: Program[]): string[] {
  if (missing.length === 0) return []
  const [apt, brew] = (['apt', 'brew'] as const).map((tool) => missing.map((program) => program[tool]).join(' '))
  const how = `sudo apt-get install -y ${apt} (Debian, Ubuntu) or brew install ${brew} (macOS)`
  return [`missing here: ${namesOf(missing)}. The tests that need them are skipped. To install: ${how}`]
}

/** Returns the line for the end of the run. `skipped`: the skipped tests with their reasons. */
export function skippedLines(missing: Program[], skipped: string[]): string[] {
  const count = skipped.filter((line) => missing.some(({ name }) => line.includes(`no ${name} here`))).length
  return count === 0 ? [] : [`${count} tests or whole files were skipped because these are missing: ${namesOf(missing)}`]
}
