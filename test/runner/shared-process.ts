/**
 * Runs many small test files in one process: a generated file makes each of them a suite that is named by its path. Starting a process and
 * loading the service in it costs a second of CPU time, more than most of these files need for their tests. The files share only the
 * process, so a file that sets the environment, replaces a global, measures its process or waits for a long time does not belong here.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * `small`: prefixes of paths. `processes`: the number of processes among which the files of a kind are distributed, so that they run on
 * every core.
 */
const kinds = [
  { name: 'units', processes: 1, small: ['test/unit/', 'packages/client/test/'] },
  { name: 'specification', processes: 4, small: ['test/spec/'] },
  { name: 'store', processes: 1, small: ['test/store/'] },
  { name: 'commands', processes: 2, small: ['test/cli/'] },
  {
    name: 'interfaces',
    processes: 1,
    small: ['test/contract/', 'test/mcp-hostile', 'test/mcp-pin', 'test/mcp-sessions', 'test/mcp-server/', 'test/openai/'],
  },
  {
    name: 'rest',
    processes: 1,
    small: [
      'test/bench/',
      'test/docs-facts',
      'test/import-cycles',
      'test/language/',
      'test/layout',
      'test/mutants/',
      'test/packages/',
      'test/routes',
      'test/runner/',
      'test/tiers',
      'test/tools-',
    ],
  },
]
const alone = [
  'test/bench/load',
  'test/bench/run',
  'test/contract/answer-check',
  'test/mcp-server/conformance',
  'test/mcp-server/stdio',
  'test/openai/cut-connections',
  'test/openai/other-clients',
  'test/openai/other-process',
  'test/packages/tarballs',
  'test/runner/ci-script',
  'test/runner/failed',
  'test/runner/missing',
  'packages/client/test/left-behind',
  'packages/client/test/persist',
  'packages/client/test/service',
  'test/cli/add-documents',
  'test/cli/apply-cut-off',
  'test/cli/chat.test.ts',
  'test/cli/copy',
  'test/cli/doctor',
  'test/cli/migrate-to-postgresql',
  'test/cli/mistakes',
  'test/spec/admin-documents',
  'test/spec/callers-who-leave',
  'test/spec/http-order',
  'test/spec/http-standstill',
  'test/spec/http-stream',
  'test/spec/http-unread-body',
  'test/spec/failpoint-throws',
  'test/spec/metrics',
  'test/spec/model-faults',
  'test/spec/one-answer',
  'test/spec/operator-mid-turn',
  'test/spec/overload',
  'test/spec/tool-faults',
  'test/spec/tools-released',
  'test/store/postgres',
  'test/store/sqlite.test.ts',
  'test/unit/clock',
  'test/unit/embeddings',
  'test/unit/redis-window',
  'test/unit/shared-page',
  'test/unit/store-window',
  'test/unit/test-servers',
  'test/unit/vector-set',
  'test/unit/verification',
]

/** Distributes the files that may share a process among groups of at least two files. `single` contains the others. */
export function groupFiles(files: string[]): { groups: { name: string; files: string[] }[]; single: string[] } {
  const startsWith = (file: string, starts: string[]): boolean => starts.some((start) => file.startsWith(start))
  const groups = kinds.flatMap(({ name, processes, small }) => {
    const own = files.filter((file) => startsWith(file, small) && !startsWith(file, alone))
    return Array.from({ length: processes }, (_, number) => ({
      name: processes === 1 ? name : `${name}-${number + 1}`,
      files: own.filter((_file, index) => index % processes === number),
    }))
  })
  const shared = groups.filter((group) => group.files.length > 1)
  const grouped = new Set(shared.flatMap((group) => group.files))
  return { groups: shared, single: files.filter((file) => !grouped.has(file)) }
}

const folderName = 'turnkeep-shared-'

/** The folder for generated files; the caller removes it. */
export const makeSharedFolder = (): string => mkdtempSync(join(tmpdir(), folderName))

/** Whether the path is that of a generated file. */
export const isShared = (path: string): boolean => path.includes(folderName)

/**
 * Writes the file that runs all of `files`, whose paths are relative to `root`, and returns its path. Each suite notifies file-cost.ts when
 * it ends.
 */
export function writeSharedFile(root: string, folder: string, name: string, files: string[]): string {
  const path = join(folder, `${name}.test.mjs`)
  const head = `import { channel } from 'node:diagnostics_channel'\nimport { after, describe } from 'node:test'\n`
  const suites = files.map((file) => {
    const [title, url] = [JSON.stringify(file), JSON.stringify(pathToFileURL(join(root, file)).href)]
    const ended = `after(() => channel('turnkeep-test:suite-ended').publish({ file: ${title} }))`
    return `describe(${title}, async () => {\n  ${ended}\n  await import(${url})\n})\n`
  })
  writeFileSync(path, `${head}${suites.join('')}`)
  return path
}
