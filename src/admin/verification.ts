/**
 * Runs `turnkeep verify` for the operator in a separate process: it reads every row, which must neither occupy a reader of the store nor
 * the event loop. One run at a time; requests during a run get its result. Changes nothing: the command reads one snapshot.
 */
import { execFile } from 'node:child_process'
import type { ExecFileException } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { ApiError } from '../errors.ts'

/** `rows` violate the invariant; only the first ones are listed. Integers are decimal strings. */
export type Invariant = { id: string; name: string; sentence: string; ok: boolean; rows: Record<string, unknown>[] }
/** `verifiedAt`: the start of the run in epoch milliseconds. */
export type Verification = { ok: boolean; verifiedAt: number; ms: number; invariants: Invariant[] }

/** Throws ApiError `service_unavailable` if there is no result: the store cannot be read, it took too long, or the server is stopping. */
export type Verify = () => Promise<Verification>

export type VerificationOptions = {
  /** The environment of the command: it selects the store of this server. */
  environment: Record<string, string | undefined>
  /** Ends the command. */
  closing: AbortSignal
  log: Logger
  /** Epoch milliseconds. */
  now(): number
}

/** About ten million turns are read in this time. Run larger stores from the command line, at a time of the operator's choice. */
export const maxVerificationMs = 300_000
// 100 rows per invariant of a few hundred bytes each are far below this.
const maxBytes = 16 * 1024 * 1024
// The command reports a failure in one line.
const maxReasonLength = 1000

const program = fileURLToPath(new URL('../../bin/turnkeep.js', import.meta.url))

type Ended = { error: ExecFileException | null; stdout: string; stderr: string }

export function createVerification({ environment, closing, log, now }: VerificationOptions): Verify {
  let running: Promise<Verification> | undefined

  async function verify(): Promise<Verification> {
    const verifiedAt = now()
    const startedAt = performance.now()
    const { error, stdout, stderr } = await runCommand()
    const exitCode = error === null ? 0 : error.code
    const reason = stderr.trim().slice(-maxReasonLength)
    // Exit code 1 means that an invariant is violated, which is a valid result.
    if (exitCode === 0 || exitCode === 1) {
      const answer = readAnswer(stdout)
      if (!answer) throw new Error(`turnkeep verify exited with code ${exitCode} without a result: ${reason}`)
      return { ...answer, verifiedAt, ms: Math.round(performance.now() - startedAt) }
    }
    if (!closing.aborted) log.warn({ exit_code: exitCode, signal: error?.signal, reason }, 'verification of the stored data failed')
    throw new ApiError('service_unavailable')
  }

  function runCommand(): Promise<Ended> {
    return new Promise((resolve) => {
      const limits = { timeout: maxVerificationMs, killSignal: 'SIGKILL', maxBuffer: maxBytes, signal: closing } as const
      const command = execFile(
        process.execPath,
        [program, 'verify', '--json'],
        { ...limits, env: environment, windowsHide: true },
        (error, stdout, stderr) => resolve({ error, stdout, stderr }),
      )
      if (command.pid !== undefined) giveWay(command.pid)
    })
  }

  return () => (running ??= verify().finally(() => (running = undefined)))
}

/** Requests have priority. The command still gets about a tenth of a busy core, so that its snapshot does not stay open forever. */
function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The command has already ended, or this system does not allow it. It then runs with the usual priority.
  }
}

/** Returns undefined for output that the command does not print. */
function readAnswer(text: string): { ok: boolean; invariants: Invariant[] } | undefined {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isFields(answer)) return undefined
  const { ok, invariants } = answer
  return typeof ok === 'boolean' && Array.isArray(invariants) && invariants.every(isInvariant) ? { ok, invariants } : undefined
}

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

function isInvariant(value: unknown): value is Invariant {
  if (!isFields(value)) return false
  const { id, name, sentence, ok, rows } = value
  const isNamed = [id, name, sentence].every((text) => typeof text === 'string')
  return isNamed && typeof ok === 'boolean' && Array.isArray(rows) && rows.every(isFields)
}
