/**
 * The key under which a mutant's verdict is cached: a hash of everything in the repository that decides it.
 *
 * Two runs with the same key give the same verdict except for what the key does not see: the content of node_modules beyond package-lock.json,
 * the versions of PostgreSQL and Redis, the machine and its load, and files that a test names by a path put together from pieces or relative to
 * another file's folder. A run with `--no-cache` covers those.
 */
import type { Mutant } from './mutant.ts'
import { Places } from './places.ts'
import { sha256, SourceGraph } from './source-graph.ts'

/** The content of the copies of the source. A test reaches nothing else of the repository. */
const folders = ['src', 'test', 'bin', 'docs']
// The code that runs a mutant and reads its result. The lists of mutants are not included, because each definition is part of its own key.
const runnerFiles = ['judge', 'mutant', 'places', 'tokens', 'trees', 'trial'].map((name) => `test/mutants/${name}.ts`)
const lockfile = 'package-lock.json'
// Passed to the tests, where they select the store and configure Node.
const variables = ['TEST_STORE', 'NODE_OPTIONS']

export class VerdictKeys {
  readonly places: Places
  readonly #graph: SourceGraph
  readonly #common: unknown

  constructor(root: string, { node = process.version, environment = process.env } = {}) {
    this.places = new Places(root)
    this.#graph = new SourceGraph(root, folders)
    const runner = [...runnerFiles, lockfile].map((file) => this.#graph.hash(file))
    this.#common = [runner, node, process.platform, process.arch, variables.map((name) => environment[name] ?? '')]
  }

  /** Returns 64 hexadecimal digits, or undefined if the mutant does not fit the source. */
  keyOf(mutant: Mutant): string | undefined {
    const { rule, edits, caughtBy, symptom } = mutant
    const placed = this.places.place(edits)
    if (placed.kind === 'stale') return undefined
    const overlay = placed.files
    const deciding = this.#graph.reachable([testFileOf(mutant), ...overlay.keys()], overlay)
    const contents = deciding.map((file) => [file, this.#graph.hash(file, overlay)])
    return sha256(JSON.stringify([this.#common, { rule, edits, caughtBy, symptom }, contents]))
  }

  /** Whether the mutant's test imports this file, directly or through others. */
  uses(mutant: Mutant, file: string): boolean {
    return this.#graph.reachable([testFileOf(mutant)]).includes(file)
  }
}

/** The file of the test that must notice the mutant, relative to the repository. */
export const testFileOf = ({ caughtBy }: Pick<Mutant, 'caughtBy'>): string => `test/${caughtBy.file}`
