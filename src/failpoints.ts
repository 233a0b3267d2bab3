/**
 * Named points in the code where a test can kill the process, throw, wait, or cut a connection, so that "killed at any moment" becomes a
 * list of cases. `TURNKEEP_FAILPOINTS` names them, and is refused unless NODE_ENV=test. Disabled, a point is a call of an empty function. A
 * point that acts first writes one line of JSON to stderr.
 */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Every point and the moment it represents. The `key` passed to a point is the user's message if there is one, and at commits of the store
 * the name of the operation. docs/failpoints.md is generated from this table.
 */
export const failpointNames = {
  'start.before-migrations': 'The database is open; the migrations are about to run.',
  'start.after-migrations': 'The migrations have run; no request is served yet.',
  'start.after-leases-ended': 'The leases of the previous process have ended; no request is served yet.',
  'limiter.before-spend': 'A request is about to spend a unit of its window.',
  'limiter.after-spend': 'A unit was spent or refused; the request has not continued.',
  'admit.before-commit': 'A batch of admissions is written; the transaction is not committed.',
  'admit.early': 'A batch of admissions is written and its turns may be calling their models; the transaction is not committed.',
  'admit.after-commit': 'A batch of admissions is durable; its callers have no response yet.',
  'settle.before-commit': 'A batch of settlements is written; the transaction is not committed.',
  'settle.after-commit': 'A batch of settlements is durable; its callers have no response yet.',
  'fail.before-commit': 'Turns are marked as failed or released; the transaction is not committed.',
  'fail.after-commit': 'Failed or released turns are durable; their callers have no response yet.',
  'advance.before-commit': 'A step is journaled and the hold extended; the transaction is not committed.',
  'advance.after-commit': 'A journaled step is durable; the turn has not continued.',
  'claim.before-commit': 'Recovery has claimed orphans; the transaction is not committed.',
  'claim.after-commit': 'The claim of orphans is durable; they do not run yet.',
  'give-up.before-commit': 'A drain has released leases; the transaction is not committed.',
  'give-up.after-commit': 'A drain has released leases; other processes may claim the turns.',
  'commit.sent': 'A commit has been sent to PostgreSQL; its answer has not arrived.',
  'renew.before': 'The timer is about to renew the leases of the running turns.',
  'renew.after': 'The leases of the running turns are renewed.',
  'model.before-call': 'A model is about to be called.',
  'model.first-delta': 'The first piece of text of a model call has arrived.',
  'model.delta': 'A piece of text has arrived, including the first one.',
  'model.done': 'The model has answered completely; nothing of it is stored.',
  'tool.before-call': 'A tool is about to be called; if it has side effects, the journal says so.',
  'tool.after-call': 'A tool has answered; nothing of it is stored.',
  'tool.after-journal': 'The end of a tool call with side effects is durable; the turn has not continued.',
  'reply.before-send': 'The end of a turn is durable; its response has not been sent.',
  'stream.before-created': 'A stream is about to start; nothing of it has been sent.',
  'stream.before-delta': 'A delta is about to be written to a caller.',
  'stream.before-end': 'The last event of a stream is about to be written.',
  'answer.before-send': 'The response to a request without a stream is about to be sent.',
  'recovery.before-run': 'A recovered turn is about to run.',
  'recovery.after-run': 'A recovered turn has ended.',
  'drain.begin': 'The drain starts: the process is no longer ready.',
  'drain.give-up': 'The drain limit has passed; the leases are about to be released.',
  'drain.end': 'No turn is running any more; the modules are about to be closed.',
  'write.before-commit': 'A change by the operator or the service is written; the transaction is not committed.',
  'write.after-commit': 'A change by the operator or the service is durable; nothing was returned yet.',
  'cancel.before-commit': 'The request to cancel a turn is written; the transaction is not committed.',
  'cancel.after-commit': 'The request to cancel a turn is durable; the process that runs the turn does not know it yet.',
  'erase.before-commit': 'Conversations are erased; the transaction is not committed.',
  'erase.after-commit': 'The erasure of conversations is durable; their bytes are still in the files.',
  'forget.before': 'Erased data is about to be removed from the files.',
  'forget.after': 'Erased data is removed from the files, except what an open reader still needs.',
  'touch-keys.before-commit': 'The last use of keys is written; the transaction is not committed.',
  'touch-keys.after-commit': 'The last use of keys is durable.',
  'claim-document.before-commit': 'The indexer has claimed a document; the transaction is not committed.',
  'claim-document.after-commit': 'The claim of a document is durable; nothing of it is read yet.',
  'add-chunks.before-commit': 'Some chunks of a document are written; the transaction is not committed.',
  'add-chunks.after-commit': 'Some chunks of a document are durable; searches do not find them yet.',
  'finish-document.before-commit': 'A document is marked as ready; the transaction is not committed.',
  'finish-document.after-commit': 'A document is ready, and searches find it; the indexer has not continued.',
  'claim-deliveries.before-commit': 'The sender of webhooks has claimed deliveries; the transaction is not committed.',
  'claim-deliveries.after-commit': 'The claim of deliveries is durable; nothing of them is sent.',
  'webhook.before-send': 'A claimed delivery is about to be sent.',
  'webhook.after-send': 'A webhook has answered; its answer is not stored.',
  'end-attempts.before-commit': 'The results of deliveries are written; the transaction is not committed.',
  'end-attempts.after-commit': 'The results of deliveries are durable.',
  'embed.before-call': 'An embedding model is about to be called.',
  'embed.after-call': 'An embedding model has returned vectors; nothing of them is stored.',
} as const

export type FailpointName = keyof typeof failpointNames

/** What the action `drop` cuts at a point. Other points refuse it. Database connections are those to PostgreSQL. */
export const failpointDrops: { readonly [Name in FailpointName]?: 'caller' | 'model' | 'database' } = {
  'stream.before-created': 'caller',
  'stream.before-delta': 'caller',
  'stream.before-end': 'caller',
  'answer.before-send': 'caller',
  'model.before-call': 'model',
  'model.first-delta': 'model',
  'model.delta': 'model',
  'embed.before-call': 'model',
  'admit.before-commit': 'database',
  'admit.early': 'database',
  'settle.before-commit': 'database',
  'fail.before-commit': 'database',
  'advance.before-commit': 'database',
  'claim.before-commit': 'database',
  'give-up.before-commit': 'database',
  'commit.sent': 'database',
  'write.before-commit': 'database',
  'cancel.before-commit': 'database',
  'erase.before-commit': 'database',
  'touch-keys.before-commit': 'database',
  'claim-document.before-commit': 'database',
  'add-chunks.before-commit': 'database',
  'finish-document.before-commit': 'database',
  'claim-deliveries.before-commit': 'database',
  'end-attempts.before-commit': 'database',
}

/**
 * Points that exist on one store only: on SQLite an outcome is known at the commit, and on PostgreSQL the database ends leases by itself.
 */
export const failpointStores: { readonly [Name in FailpointName]?: 'sqlite' | 'postgres' } = {
  'start.after-leases-ended': 'sqlite',
  'commit.sent': 'postgres',
}

export interface Failpoints {
  /**
   * Acts at a point in synchronous code; a delay blocks the thread. Throws FailpointThrown, or never returns. `drop` cuts the point's
   * connection.
   */
  hit(name: FailpointName, key?: string, drop?: () => void): void
  /** Acts at a point in asynchronous code; a delay does not block. */
  reach(name: FailpointName, key?: string, drop?: () => void): Promise<void>
  /** The text given to `createFailpoints`, so that a worker thread can get the same. */
  readonly spec: string
}

/** Thrown by the action `throw`. */
export class FailpointThrown extends Error {}

/** The text of `TURNKEEP_FAILPOINTS` is invalid. The message says why. */
export class FailpointSyntaxError extends Error {}

type Action = { kind: 'kill' } | { kind: 'throw' } | { kind: 'drop' } | { kind: 'delay'; ms: number }
type Rule = { name: FailpointName; action: Action; atHit: number | undefined; ifKeyHas: string | undefined; hits: number }

export const noFailpoints: Failpoints = { hit: () => {}, reach: async () => {}, spec: '' }

/**
 * Parses `name=action[@n][ if:text]`, separated by `;`. Actions: `kill` (SIGKILL to this process), `throw`, `drop` (cuts the point's
 * connection), `delay:<ms>`. `@n` acts at the n-th hit only, otherwise the point acts at every hit. `if:text` counts only hits whose key
 * contains the text. Example: `settle.before-commit=kill@3; model.delta=kill if:poison`. Throws FailpointSyntaxError.
 */
export function createFailpoints(spec: string): Failpoints {
  const rules = rulesOf(spec)
  if (rules.length === 0) return noFailpoints

  function due(name: FailpointName, key: string | undefined): Rule[] {
    const matching = rules.filter((rule) => rule.name === name && (rule.ifKeyHas === undefined || key?.includes(rule.ifKeyHas)))
    for (const rule of matching) rule.hits += 1
    return matching.filter((rule) => rule.atHit === undefined || rule.atHit === rule.hits)
  }

  return {
    spec,
    hit(name, key, drop) {
      for (const rule of due(name, key)) {
        report(rule)
        if (rule.action.kind === 'delay') block(rule.action.ms)
        else act(rule.action.kind, name, drop)
      }
    },
    async reach(name, key, drop) {
      for (const rule of due(name, key)) {
        report(rule)
        if (rule.action.kind === 'delay') await sleep(rule.action.ms)
        else act(rule.action.kind, name, drop)
      }
    },
  }
}

/** Returns why a specification can never act with this store, or undefined. Throws FailpointSyntaxError. */
export function misplacedFailpoint(spec: string, store: 'sqlite' | 'postgres'): string | undefined {
  for (const { name, action } of rulesOf(spec)) {
    const only = failpointStores[name]
    if (only !== undefined && only !== store) return `"${name}" does not exist in this store`
    if (action.kind === 'drop' && failpointDrops[name] === 'database' && store === 'sqlite')
      return `"${name}" has no connection to drop: the embedded database is in the process`
  }
  return undefined
}

function rulesOf(spec: string): Rule[] {
  return spec
    .split(';')
    .filter((entry) => entry.trim() !== '')
    .map(parseRule)
}

function parseRule(entry: string): Rule {
  const match = /^\s*([^=\s]+)=(?:(kill|throw|drop)|delay:(\d{1,6}))(?:@(\d{1,9}))?(?:\s+if:(.+?))?\s*$/s.exec(entry)
  if (!match) {
    throw new FailpointSyntaxError(
      `"${entry.trim()}" is not of the form name=kill|throw|drop|delay:<ms>, with @<n> and if:<text> where wanted`,
    )
  }
  const [, name = '', kind, ms, atHit, ifKeyHas] = match
  if (!isFailpointName(name)) throw new FailpointSyntaxError(`"${name}" is not the name of a failpoint`)
  if (atHit !== undefined && Number(atHit) === 0) throw new FailpointSyntaxError(`"${entry.trim()}": hits count from 1`)
  if (kind === 'drop' && failpointDrops[name] === undefined) throw new FailpointSyntaxError(`"${name}" has no connection to drop`)
  const action: Action = kind === 'kill' || kind === 'throw' || kind === 'drop' ? { kind } : { kind: 'delay', ms: Number(ms) }
  return { name, action, atHit: atHit === undefined ? undefined : Number(atHit), ifKeyHas, hits: 0 }
}

function isFailpointName(name: string): name is FailpointName {
  return Object.hasOwn(failpointNames, name)
}

/**
 * Lets a test run know which of its points acted. Written by this thread itself, because output handed to the main thread would be lost if
 * the process dies.
 */
function report({ name, action, hits }: Rule): void {
  const line = `${JSON.stringify({ failpoint: name, action: action.kind, hit: hits, pid: process.pid })}\n`
  for (;;) {
    try {
      // Shorter than PIPE_BUF, so it is written whole or not at all, even between log lines.
      return void writeSync(2, line)
    } catch (error) {
      // The pipe does not block. If its reader has gone, the point still acts.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return
      block(1)
    }
  }
}

function act(kind: 'kill' | 'throw' | 'drop', name: FailpointName, drop: (() => void) | undefined): void {
  if (kind === 'throw') throw new FailpointThrown(`failpoint ${name}`)
  if (kind === 'drop') {
    if (!drop) throw new Error(`the failpoint ${name} was given no connection to drop`)
    return drop()
  }
  process.kill(process.pid, 'SIGKILL')
  // The signal may arrive a moment later, and nothing after this point may run.
  for (;;) block(Infinity)
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
