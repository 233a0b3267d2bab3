/**
 * The areas of the tests and the CPU time that each may use in a whole run of a tier. More than that is a warning and never a failure.
 * docs/decisions/0029-test-tiers.md shows the table; `node test/tiers.test.ts --update-golden` writes it there.
 */
import type { FileFigures, RunFigures } from './costs.ts'
import type { Tier } from './tiers.ts'

type Budgeted = Exclude<Tier, 'deep'>
type Area = { name: string; files: string[]; cpuSeconds: Record<Budgeted, number> }

/**
 * `files`: prefixes of paths below test/, or of a process that several files share. A file belongs to the first area that has a prefix of
 * it. `cpuSeconds`: user and system time.
 */
const areas: Area[] = [
  { name: 'specification', files: ['spec/', 'specification-'], cpuSeconds: { fast: 230, ci: 110 } },
  { name: 'store', files: ['store/', 'store.', 'schema'], cpuSeconds: { fast: 55, ci: 15 } },
  { name: 'console', files: ['browser/'], cpuSeconds: { fast: 30, ci: 80 } },
  {
    name: 'command line',
    files: ['cli/', 'command-line', 'commands-', 'executable', 'first-start', 'process.', 'start-loads'],
    cpuSeconds: { fast: 50, ci: 50 },
  },
  {
    name: 'crashes and faults',
    files: ['race/', 'chaos/', 'simulation/', 'failpoints', 'fault-matrix'],
    cpuSeconds: { fast: 20, ci: 130 },
  },
  {
    name: 'documents and knowledge',
    files: ['documents-', 'retrieval', 'field/documents', 'field/search'],
    cpuSeconds: { fast: 5, ci: 40 },
  },
  {
    name: 'interfaces',
    files: ['interfaces.', 'openai/', 'mcp', 'contract/', 'clients/', 'cookbook/', 'packages/client/'],
    cpuSeconds: { fast: 35, ci: 60 },
  },
  { name: 'docs', files: ['docs', 'language/'], cpuSeconds: { fast: 5, ci: 30 } },
  { name: 'units and the rest', files: [''], cpuSeconds: { fast: 30, ci: 15 } },
]
/** The PostgreSQL and the Redis of the run, which every area uses. */
const servers: Area = { name: 'PostgreSQL and Redis', files: [], cpuSeconds: { fast: 60, ci: 90 } }
const all = [...areas, servers]

/** The name of the area of a file, whose path is relative to the repository. */
export function areaOf(file: string): string {
  const name = file.replace(/^test\//, '')
  return areas.find(({ files }) => files.some((start) => name.startsWith(start)))!.name
}

/** Every prefix, for the test that finds one without a file. */
export const areaPrefixes = (): { area: string; start: string }[] =>
  areas.flatMap(({ name, files }) => files.map((start) => ({ area: name, start })))

/** Returns a heading and a line per area of a whole run; nothing for the deep tier, which has no budget. */
export function areaLines({ tier, serverCpuMs, files }: RunFigures): string[] {
  if (tier !== 'fast' && tier !== 'ci') return []
  const byArea = Map.groupBy(files, ({ file }) => areaOf(file))
  const rows = all.map(({ name, cpuSeconds }) => {
    const own = byArea.get(name) ?? []
    const sum = (pick: (file: FileFigures) => number): number => own.reduce((total, file) => total + pick(file), 0)
    const cpuS = (name === servers.name ? serverCpuMs : sum(({ cpuMs }) => cpuMs)) / 1000
    const figures = [sum(({ tests }) => tests), own.length, (sum(({ wallMs }) => wallMs) / 1000).toFixed(1), cpuS.toFixed(1)]
    return row([...figures, cpuSeconds[tier]], `${name}${cpuS > cpuSeconds[tier] ? ' (warning: over its budget)' : ''}`)
  })
  return [row(['tests', 'files', 'wall s', 'CPU s', 'budget'], 'area'), ...rows]
}

const row = (cells: (string | number)[], name: string): string => `${cells.map((cell) => String(cell).padStart(8)).join(' ')}  ${name}`

/** The table of the decision, in Markdown. */
export function areaTable(): string {
  const total = (tier: Budgeted): number => all.reduce((sum, { cpuSeconds }) => sum + cpuSeconds[tier], 0)
  const rows = all.map(({ name, files, cpuSeconds: { fast, ci } }) => [name, filesText(files), fast, ci])
  const lines = [...rows, ['all', 'the whole run', total('fast'), total('ci')]].map((cells) => `| ${cells.join(' | ')} |`)
  return ['| area | files, most of them below `test/` | fast | ci |', '|---|---|---|---|', ...lines].join('\n')
}

/** Without the names of shared processes, which are not files of the repository. */
function filesText(files: string[]): string {
  if (files.length === 0) return 'the servers that every area uses'
  const shown = files.filter((start) => !['specification-', 'store.', 'commands-', 'interfaces.'].includes(start))
  return shown.map((start) => (start === '' ? 'all others' : `\`${start}\``)).join(', ')
}
