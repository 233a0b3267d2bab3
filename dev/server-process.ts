/** Starts and stops dev/server.ts as a child process. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ReadyMessage } from './server.ts'

export type ServerProcess = {
  /** Rejects with ServerEnded where the server ends before it is ready. */
  ready: Promise<ReadyMessage>
  /** The exit code; null after a signal. */
  ended: Promise<number | null>
  /** Drains the server; resolves when the process has ended. */
  stop(): Promise<void>
  /** Ends the process immediately. */
  kill(): void
}

export class ServerEnded extends Error {
  readonly code: number | null

  constructor(code: number | null) {
    super(`the server ended before it was ready, with exit code ${code}`)
    this.code = code
  }
}

/** Its stderr is ours; what it prints for a person is left out. */
export function startServerProcess(environment: Record<string, string | undefined>): ServerProcess {
  const child = fork(join(import.meta.dirname, 'server.ts'), {
    env: environment,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Ctrl-C in a terminal reaches the parent alone, which then stops the server once.
    detached: true,
  })
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const ready = Promise.race([readyOf(child), ended.then((code) => Promise.reject(new ServerEnded(code)))])
  // Some callers only wait for the end.
  ready.catch(() => undefined)
  return {
    ready,
    ended,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

async function readyOf(child: ChildProcess): Promise<ReadyMessage> {
  const [message] = (await once(child, 'message')) as [ReadyMessage]
  return message
}
