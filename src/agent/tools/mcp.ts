/**
 * Uses MCP servers over streamable HTTP: lists their tools and calls those that the operator approved. A tool whose definition has changed
 * is not called until the operator approves it again. A tools/call is sent once: it is not repeated if the answer is late or lost, but only
 * if the server refused the session in which it was sent. This module starts no programs, sends no credentials except the operator's
 * headers, and passes nothing from a server to the model except the bounded text of a result.
 */
import { createHash } from 'node:crypto'
import type { Logger } from 'pino'
import { GuardRefused } from '../guard/guard.ts'
import type { Guard } from '../guard/guard.ts'
import { raceAbort } from '../race-abort.ts'
import { fingerprint, pinnedTools } from './mcp-definitions.ts'
import { OutcomeUnknown, SessionForgotten } from './mcp-failure.ts'
import { refusal, resultOf } from './mcp-result.ts'
import { openSession } from './mcp-session.ts'
import type { CallInSession, McpSession, ServerAddress } from './mcp-session.ts'
import { ToolServerError } from './tool-config.ts'
import type { McpServer, PinnedTool, Pins, ToolResult } from './tool-config.ts'

export type McpCall = {
  server: McpServer
  /** Headers of the server, in plain text. */
  headers: Record<string, string>
  /** The server's own name for the tool. */
  tool: string
  args: Record<string, unknown>
  idempotencyKey: string
  traceparent?: string | null
  signal: AbortSignal
}

export interface Mcp {
  /** Returns the tools that the server offers now, as they would be approved. Throws ToolServerError, whose message is for the operator. */
  pin(server: ServerAddress & { allowed: string[] | null }): Promise<Pins>
  /** Calls a tool. Every failure is a result for the model; rejects only with `signal.reason`. */
  call(call: McpCall): Promise<ToolResult>
  /** Closes the session with every server. Calls that are still running end when the guard closes. */
  close(): Promise<void>
}

export type McpLimits = {
  /** Deadline of a call including the opening of its session, and of a pin. */
  totalMs: number
  /** A session is closed after it has been unused for this long. */
  idleMs: number
  /** Maximum age of the server's list of tools when a tool is called. */
  listedMs: number
}

// One minute, because two messages of a conversation are rarely further apart.
const defaultLimits: McpLimits = { totalMs: 10_000, idleMs: 60_000, listedMs: 60_000 }

type Shared = { session: Promise<McpSession>; users: number; idle: NodeJS.Timeout | undefined }

export function createMcp({ guard, log, limits }: { guard: Guard; log: Logger; limits?: Partial<McpLimits> }): Mcp {
  const { totalMs, idleMs, listedMs } = { ...defaultLimits, ...limits }
  const sessions = new Map<string, Shared>()
  /** Changes that were logged already: server, tool and approved definition. */
  const reportedFor = new Set<string>()

  return { pin, call, close }

  async function pin({ url, headers, allowed }: Parameters<Mcp['pin']>[0]): Promise<Pins> {
    const deadline = AbortSignal.timeout(totalMs)
    let session: McpSession | undefined
    try {
      session = await open({ url, headers })
      return pinnedTools(await session.list(deadline), allowed)
    } catch (error) {
      if (error instanceof ToolServerError && error.cause instanceof GuardRefused)
        throw new ToolServerError(error.cause.forOperator, { cause: error.cause })
      throw isTimeout(error) ? new ToolServerError(`the server did not respond within ${totalMs / 1000} seconds`) : error
    } finally {
      void session?.close()
    }
  }

  async function call(request: McpCall): Promise<ToolResult> {
    const { server, tool, headers } = request
    request.signal.throwIfAborted()
    const pinned = server.pinned.find(({ name }) => name === tool)
    if (!pinned) return refusal(`there is no tool named ${tool}`)
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(totalMs)])
    const started = performance.now()
    let mayHaveActed = false
    try {
      const outcome = await inSession({ url: server.url, headers }, signal, async (session) => {
        if (!(await isAsPinned(session, pinned, started, signal))) return { kind: 'changed' as const }
        mayHaveActed = pinned.sideEffects
        return { kind: 'called' as const, answer: await session.callTool({ ...toCall(request), signal }) }
      })
      tellOfChange(request, pinned, outcome.kind === 'changed')
      return outcome.kind === 'called'
        ? resultOf(outcome.answer, headers)
        : refusal(`the tool ${tool} has changed since the operator approved it, and is not called until it is approved again`)
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason
      return failed(request, error, mayHaveActed)
    }
  }

  function failed({ server, tool }: McpCall, error: unknown, mayHaveActed: boolean): ToolResult {
    const reason = isTimeout(error) ? `its server did not respond within ${totalMs / 1000} seconds` : undefined
    const said = reason ?? (error instanceof ToolServerError ? error.message : undefined)
    // An unexpected error may contain a secret, so only its name is logged.
    const logged = reason ?? (error instanceof ToolServerError ? error.ownMessage : undefined)
    log.warn(
      { server: server.name, tool, reason: logged ?? `unexpected ${error instanceof Error ? error.name : typeof error}` },
      'MCP tool call failed',
    )
    const wasAnswered = error instanceof ToolServerError && !(error instanceof OutcomeUnknown)
    const unknown = mayHaveActed && !wasAnswered ? '. Whether it took effect is not known' : ''
    return refusal(`the tool call failed: ${said ?? 'its server could not be called'}${unknown}`)
  }

  /**
   * Tries once more in a new session if the server no longer knew the old one, because then it refused the request without processing it.
   */
  async function inSession<T>(address: ServerAddress, signal: AbortSignal, use: (session: McpSession) => Promise<T>): Promise<T> {
    const key = keyOf(address)
    try {
      return await shared(key, address, signal, use)
    } catch (error) {
      if (!(error instanceof SessionForgotten)) throw error
      return shared(key, address, signal, use)
    }
  }

  async function shared<T>(key: string, address: ServerAddress, signal: AbortSignal, use: (session: McpSession) => Promise<T>): Promise<T> {
    const one = sessions.get(key) ?? begin(key, address)
    one.users++
    clearTimeout(one.idle)
    try {
      return await use(await raceAbort(one.session, signal))
    } catch (error) {
      if (error instanceof SessionForgotten) forget(key, one)
      throw error
    } finally {
      one.users--
      if (one.users === 0 && sessions.get(key) === one) one.idle = setTimeout(() => leave(key, one), idleMs).unref()
    }
  }

  function begin(key: string, address: ServerAddress): Shared {
    const one: Shared = { session: open(address), users: 0, idle: undefined }
    sessions.set(key, one)
    // The callers that wait for the session get the rejection themselves; the next caller opens a new session.
    one.session.catch(() => forget(key, one))
    return one
  }

  function forget(key: string, one: Shared): void {
    if (sessions.get(key) === one) sessions.delete(key)
  }

  function leave(key: string, one: Shared): Promise<void> {
    forget(key, one)
    return one.session.then(
      (session) => session.close(),
      () => undefined,
    )
  }

  /** All callers that wait for the session share it, so it has its own deadline and no caller's signal can end it. */
  function open(address: ServerAddress): Promise<McpSession> {
    return openSession({ ...address, fetch: guard.webFetch, timeoutMs: totalMs })
  }

  /**
   * A list read before the call started is enough to accept a tool, but not to reject it: the tool may have been approved after that list
   * was read.
   */
  async function isAsPinned(session: McpSession, pinned: PinnedTool, started: number, signal: AbortSignal): Promise<boolean> {
    const approved = fingerprint(pinned)
    for (const since of [started - listedMs, started]) {
      const known = await raceAbort(session.known(since), signal)
      if (known.get(pinned.name) === approved) return true
    }
    return false
  }

  /** Logs a changed tool once, until its definition is the approved one again or another definition is approved. */
  function tellOfChange({ server, headers }: McpCall, pinned: PinnedTool, changed: boolean): void {
    const reported = `${keyOf({ url: server.url, headers })} ${fingerprint(pinned)}`
    if (!changed) return void reportedFor.delete(reported)
    if (reportedFor.has(reported)) return
    reportedFor.add(reported)
    log.warn(
      { server: server.name, origin: new URL(server.url).origin, tool: pinned.name },
      'MCP tool has changed since it was approved; calls are blocked until it is approved again',
    )
  }

  async function close(): Promise<void> {
    await Promise.all(
      [...sessions].map(([key, one]) => {
        clearTimeout(one.idle)
        return leave(key, one)
      }),
    )
  }
}

/** Identifies a session by address and headers, since other headers can mean another account. Keeps only a digest of them. */
function keyOf({ url, headers }: ServerAddress): string {
  const sorted = Object.entries(headers).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([url, sorted]))
    .digest('base64')
}

function toCall({ tool, args, idempotencyKey, traceparent }: McpCall): Omit<CallInSession, 'signal'> {
  return { tool, args, idempotencyKey, traceparent: traceparent ?? null }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}
