/**
 * What one run of a command works with. Commands use nothing else of their process, so several of them can run in one process without
 * knowing of each other. Only turnkeep.ts uses the process itself.
 */
import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../config/config.ts'

/** What stdin has if it is a terminal, otherwise nothing. */
export type Input = Readable & { isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }

/** `columns` is 0 if a terminal does not know its size. `hasColors` reads NO_COLOR and others from the environment that it is given. */
export type Output = Writable & { isTTY?: boolean; columns?: number; hasColors?(environment: Environment): boolean }

/** 1: the command worked, and the answer is no. 2: the command could not run. */
export type ExitCode = 0 | 1 | 2

export type CommandRun = {
  readonly environment: Environment
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  /** Set by a command that prints its result although the answer is no. An error that it throws sets it in program.ts. */
  exitCode: ExitCode
  /** Calls the listener once at Ctrl-C, which then does not end the command. Returns a function that removes the listener. */
  onInterrupt(listener: () => void): () => void
  /**
   * Returns the exit code with which the process ends immediately when stdout fails, or throws the error. Usually the reader has closed it
   * early, as `head` does, which is no failure.
   */
  whenOutputFails(error: NodeJS.ErrnoException): ExitCode
}

export function startRun(given: Omit<CommandRun, 'exitCode' | 'whenOutputFails'>): CommandRun {
  return {
    ...given,
    exitCode: 0,
    whenOutputFails(error) {
      if (error.code !== 'EPIPE') throw error
      return 0
    },
  }
}
