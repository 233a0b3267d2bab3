/**
 * Combines the events of all passes of a run into one report: a line per file (or per test if single files were requested), failures in
 * full, skipped tests with their reasons, and one summary whose counts are sums.
 */
import { join } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { runsOnBoth } from './tiers.ts'
import type { Store } from './tiers.ts'

type Diagnostic = Extract<TestEvent, { type: 'test:diagnostic' }>
type Verdict = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

const root = join(import.meta.dirname, '../..')
const counted = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo', 'duration_ms']

export class Report {
  readonly #isVerbose: boolean
  readonly #counts = new Map(counted.map((name) => [name, 0]))
  /** The skipped tests with their reasons. */
  readonly skipped: string[] = []
  readonly #onBoth = new Map<string, boolean>()
  #failed = 0
  #summary: TestEvent | undefined

  constructor({ isVerbose }: { isVerbose: boolean }) {
    this.#isVerbose = isVerbose
  }

  /** Yields the events of one pass that the reporter should get. */
  async *pass(events: AsyncIterable<TestEvent> | Iterable<TestEvent>, store: Store): AsyncGenerator<TestEvent> {
    for await (const event of events) {
      if (event.type === 'test:diagnostic' && event.data.file === undefined && this.#count(event.data.message)) continue
      if (event.type === 'test:summary') {
        if (event.data.file === undefined) this.#summary = event
        else if (!this.#isVerbose) yield diagnostic(fileLine(event, store))
        continue
      }
      const seen = this.#see(event, store)
      if (this.#isVerbose || isReported(seen)) yield seen
    }
  }

  /** Replaces a pass that cannot run here. */
  *skip(names: string[], reason: string): Generator<TestEvent> {
    for (const [index, name] of names.entries()) {
      const details = { duration_ms: 0, type: 'test' as const }
      yield {
        type: 'test:pass',
        data: { name, file: join(root, name), nesting: 0, testNumber: index + 1, skip: reason, details },
      } as Verdict
    }
    for (const count of ['tests', 'skipped']) yield diagnostic(`${count} ${names.length}`)
  }

  *end({ lines, isBroken, isCi }: { lines: string[]; isBroken: boolean; isCi: boolean }): Generator<TestEvent> {
    if (this.skipped.length > 0) yield diagnostic(`${this.skipped.length} skipped${isCi ? ', which is a failure with CI=true' : ''}`)
    for (const line of this.skipped) yield diagnostic(`skipped ${line}`)
    if (isBroken) this.#failed += 1
    for (const line of lines) yield diagnostic(line)
    for (const [count, value] of this.#counts) yield diagnostic(`${count} ${Number(value.toFixed(3))}`)
    // The reporter lists the failures when it sees the summary.
    if (this.#summary) yield this.#summary
  }

  hasFailed(isCi: boolean): boolean {
    return this.#failed > 0 || (isCi && this.skipped.length > 0)
  }

  #count(message: string): boolean {
    const [, name, value] = /^(\w+) ([\d.]+)$/.exec(message) ?? []
    if (name === undefined || !this.#counts.has(name)) return false
    this.#counts.set(name, this.#counts.get(name)! + Number(value))
    return true
  }

  /** Counts failed and skipped tests, and puts the store into the titles of tests that run on both. */
  #see(event: TestEvent, store: Store): TestEvent {
    if (event.type !== 'test:pass' && event.type !== 'test:fail' && event.type !== 'test:start') return event
    const { entryFile = event.data.file ?? '' } = event.data as { entryFile?: string }
    if (this.#isOnBoth(entryFile) && (event.data.nesting === 0 || event.type === 'test:fail'))
      event.data.name = `${store}: ${event.data.name}`
    if (event.type === 'test:start') return event
    if (event.type === 'test:fail') this.#failed += 1
    const reason = event.data.skip ?? event.data.todo
    if (reason) this.skipped.push(`${event.data.name}${typeof reason === 'string' ? `: ${reason}` : ''}`)
    return event
  }

  #isOnBoth(file: string): boolean {
    if (!file.startsWith(root)) return false
    const known = this.#onBoth.get(file) ?? runsOnBoth(file.slice(root.length + 1))
    this.#onBoth.set(file, known)
    return known
  }
}

/** Removes the lines of passing tests. What remains is failures, the output of tests, and no line that only opens a level. */
function isReported(event: TestEvent): boolean {
  return !['test:pass', 'test:start', 'test:plan', 'test:diagnostic'].includes(event.type)
}

function fileLine({ data }: Extract<TestEvent, { type: 'test:summary' }>, store: Store): string {
  const name = data.file!.startsWith(root) ? data.file!.slice(root.length + 1) : 'small files in one process'
  const state = data.success ? 'passed' : 'FAILED'
  return `${state} ${store} ${name}: ${data.counts.tests} tests, ${(data.duration_ms / 1000).toFixed(1)} s`
}

function diagnostic(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, message } } as Diagnostic
}
