/** One call by a client: starts its driver, sends it one line with its task, and records what it prints and when. Judges nothing. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { readLine } from './scenario-file.ts'
import type { CallKind, Line } from './scenario-file.ts'

/** Seconds, as on the driver's line. */
export type Order = {
  base_url: string
  agent_id: string
  api_key: string
  call: CallKind
  external_user_id: string
  message: string
  idempotency_key?: string
  max_retries?: number
  max_wait?: number
  timeout?: number
  cancel_after_deltas?: number
}
export type Printed = {
  lines: (Line & { at: number })[]
  /** Output that was not a line of the protocol, its stderr, and how it ended, if that was not as it should be. */
  problems: string[]
  endedAt: number
}

// No scenario takes a third of it.
const maxMs = 60_000

/** `leaveAfterDeltas`: the program is killed when it has printed this many. */
export async function runDriver(command: readonly string[], order: Order, leaveAfterDeltas = Infinity): Promise<Printed> {
  const [program = '', ...args] = command
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE }
  const child = spawn(program, args, { env, stdio: 'pipe' })
  const problems: string[] = []
  const lines: Printed['lines'] = []
  let stderr = ''
  let left = false
  child.on('error', (error) => problems.push(`the driver cannot be started: ${error.message}`))
  child.stdin.on('error', () => undefined)
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (stderr += piece))
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (left) return
    try {
      lines.push({ ...readLine(text), at: performance.now() })
    } catch (error) {
      problems.push(`the driver printed a line that is not part of the protocol: ${text.slice(0, 200)} (${(error as Error).message})`)
    }
    if (lines.filter(({ event }) => event === 'delta').length < leaveAfterDeltas) return
    left = true
    child.kill('SIGKILL')
  })
  const tooLong = setTimeout(() => {
    problems.push(`the driver did not end within ${maxMs / 1000} s`)
    child.kill('SIGKILL')
  }, maxMs)
  child.stdin.end(`${JSON.stringify(order)}\n`)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearTimeout(tooLong)
  if (!left && code !== 0 && problems.length === 0) problems.push(`the driver ended with code ${code}: ${stderr.slice(-2000)}`)
  return { lines, problems, endedAt: performance.now() }
}
