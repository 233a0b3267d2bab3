/**
 * Runs one command `turnkeep …` to its end, with only what it is given: in this process, through the same entry as the executable, which
 * costs a tenth of a new process. `runProcess` starts the executable, as a person would.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { startRun } from '../../src/cli/command-run.ts'
import type { CommandRun } from '../../src/cli/command-run.ts'
import { runProgram } from '../../src/cli/program.ts'
import { adminToken } from './test-app.ts'

const command = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

export type Ran = { code: number | null; stdout: string; stderr: string }

/** These use the streams of their process, or end it. */
const ownProcess = ['serve', 'mcp']

/** Of this process's environment only PATH is passed on. The admin token must never be in the output. */
export async function runCommand(args: string[], environment: Record<string, string> = {}, input = ''): Promise<Ran> {
  assert.ok(!ownProcess.includes(args[0] ?? '') || args.includes('--help'), `${args[0]} needs runProcess`)
  const run = startTestRun(environment, input)
  const code = await runProgram(args, run)
  return withoutToken({ code, stdout: run.stdout.text, stderr: run.stderr.text })
}

/**
 * Like `runCommand`, in a new process: for a command that reads the store while this process serves or loads it, because SQLite stops the
 * process that uses it.
 */
export async function runProcess(args: string[], environment: Record<string, string> = {}, input = ''): Promise<Ran> {
  const child = spawn(process.execPath, [command, ...args], { env: childEnvironment(environment), stdio: 'pipe' })
  const ran: Ran = { code: null, stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (piece: string) => (ran[stream] += piece))
  // A command may end without reading its input, which is not tested here.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  ran.code = (await once(child, 'close'))[0] as number | null
  return withoutToken(ran)
}

/** A run with pipes instead of a terminal, which collects what is written to them. */
export function startTestRun(environment: Record<string, string>, input = ''): CommandRun & { stdout: Collected; stderr: Collected } {
  const [stdout, stderr] = [new Collected(), new Collected()]
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)])
  const run = startRun({ environment: childEnvironment(environment), stdin, stdout, stderr, onInterrupt: () => () => undefined })
  return Object.assign(run, { stdout, stderr })
}

class Collected extends Writable {
  readonly #pieces: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.#pieces).toString()
  }

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    this.#pieces.push(piece)
    done()
  }
}

const childEnvironment = (given: Record<string, string>): Record<string, string> => ({ PATH: process.env['PATH'] ?? '', ...given })

function withoutToken(ran: Ran): Ran {
  assert.ok(!(ran.stdout + ran.stderr).includes(adminToken), 'the admin token was printed')
  return ran
}
