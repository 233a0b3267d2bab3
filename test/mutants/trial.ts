/** Runs a few tests of one file in a tree, with Node's own runner, in a separate process group that never outlives the trial. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Symptom } from './mutant.ts'

export type Failure = {
  /** The titles from the outermost test to this one. */
  title: string
  symptom: Symptom
  message: string
}

export type Trial = {
  /** The titles of the tests that ran, including those of enclosing tests. */
  ran: string[]
  failures: Failure[]
  /** Set if the process did not end because of its tests: it could not load the file, crashed, or was killed after a timeout. */
  broken: string | undefined
  seconds: number
}

export type TrialOptions = { tree: string; file: string; titles: string[]; testTimeoutMs: number; env: NodeJS.ProcessEnv }

// A multiple of the timeout of one test: a process in which not even the timeouts work is killed from outside.
const timeouts = 4

export async function runTrial({ tree, file, titles, testTimeoutMs, env }: TrialOptions): Promise<Trial> {
  const startedAt = performance.now()
  const patterns = titles.map((title) => `--test-name-pattern=${title.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`)
  const child = spawn(
    process.execPath,
    ['--test-reporter=tap', `--test-timeout=${testTimeoutMs}`, '--test-force-exit', ...patterns, file],
    { cwd: tree, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  )
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  let late = false
  const maxMs = timeouts * testTimeoutMs
  const timer = setTimeout(() => {
    late = true
    endGroup(child.pid)
  }, maxMs)
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  // Kills servers that a test started and could not stop.
  endGroup(child.pid)
  const { ran, failures } = readTap(output)
  const seconds = (performance.now() - startedAt) / 1000
  const crashed = code !== 0 && failures.length === 0 ? `the process ended with ${code ?? signal}: ${firstLine(errors)}` : undefined
  return { ran, failures, broken: late ? `no end within ${maxMs / 1000} s` : crashed, seconds }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Reads the runner's TAP: titles by their indentation, and the details of each failure. */
function readTap(output: string): { ran: string[]; failures: Failure[] } {
  const path: string[] = []
  const ran: string[] = []
  const failures: Failure[] = []
  const lines = output.split('\n')
  for (const [at, line] of lines.entries()) {
    const started = /^( *)# Subtest: (.*)$/.exec(line)
    if (started) path.splice(started[1]!.length / 4, path.length, unescape(started[2]!))
    const ended = /^( *)(not )?ok \d+ - /.exec(line)
    if (!ended) continue
    const end = lines.indexOf(`${ended[1]}  ...`, at)
    const said = lines.slice(at + 1, end).join('\n')
    if (/^ *type: 'suite'$/m.test(said)) continue
    const title = path.slice(0, ended[1]!.length / 4 + 1).join(' ')
    ran.push(title)
    const failureType = field(said, 'failureType')
    if (failureType === 'subtestsFailed') continue
    const message = field(said, 'error')
    if (ended[2]) failures.push({ title, symptom: symptomOf(failureType, field(said, 'name'), message), message })
  }
  return { ran, failures }
}

function symptomOf(failureType: string, errorName: string, message: string): Symptom {
  if (failureType === 'testTimeoutFailure' || failureType === 'cancelledByParent') return 'hang'
  // fast-check wraps the assertion in an error.
  return errorName === 'AssertionError' || message.startsWith('Property failed') ? 'assertion' : 'throws'
}

/** Returns a field of the YAML block below a result; only its first line if it has several. */
function field(block: string, name: string): string {
  const [, value = ''] = new RegExp(`^ *${name}: (?:\\|-\\n *)?(.*)$`, 'm').exec(block) ?? []
  return value.replace(/^'|'$/g, '')
}

const unescape = (title: string): string => title.replace(/\\([#\\])/g, '$1')
const firstLine = (text: string): string => text.split('\n').find((line) => /Error|error/.test(line)) ?? text.split('\n')[0] ?? ''
