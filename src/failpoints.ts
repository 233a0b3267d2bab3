/**
 * Named crash points: places where a test makes the process die, fail or wait, so that "killed at any moment" is a list one can walk.
 * `TURNKEEP_FAILPOINTS` names them; it is refused outside NODE_ENV=test. Off, a point is one call of an empty function.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Every point and the moment it stands for. The `key` a point is called with is the user's message, where it has one. */
export const failpointNames = {
  'admit.before-commit': 'A batch of admissions is written, not yet committed.',
  'admit.after-commit': 'A batch of admissions is durable, its callers are not yet told.',
  'settle.before-commit': 'A batch of settlements is written, not yet committed.',
  'settle.after-commit': 'A batch of settlements is durable, its callers are not yet told.',
  'fail.before-commit': 'Turns are marked as failed or released, not yet committed.',
  'fail.after-commit': 'Failed or released turns are durable, their callers are not yet told.',
  'advance.before-commit': 'A step is journalled and the hold extended, not yet committed.',
  'advance.after-commit': 'A journalled step is durable, the turn has not gone on yet.',
  'renew.before': 'The timer is about to renew the leases of the running turns.',
  'renew.after': 'The leases of the running turns are renewed.',
  'claim.before-commit': 'Recovery has claimed orphans, not yet committed.',
  'claim.after-commit': 'The claim of orphans is durable, they do not run yet.',
  'model.before-call': 'A turn is about to call the model.',
  'model.first-delta': 'The first piece of text of a model call has arrived.',
  'model.delta': 'A piece of text has arrived, the first one too.',
  'model.done': 'The model has answered completely, nothing of it is stored.',
  'tool.before-call': 'A tool is about to be called; if it has side effects, the journal says so.',
  'tool.after-call': 'A tool has answered, nothing of it is stored.',
  'tool.after-journal': 'The end of a tool call with side effects is durable, the turn has not gone on yet.',
  'reply.before-send': 'A turn has ended durably, its answer has not left.',
  'recovery.before-run': 'A recovered turn is about to run.',
  'drain.begin': 'The drain begins: the process is no longer ready.',
  'drain.give-up': 'The drain limit has passed, the leases are about to be given up.',
} as const

export type FailpointName = keyof typeof failpointNames

export interface Failpoints {
  /** Acts at a point in synchronous code; a delay blocks the thread. Throws FailpointThrown, or never returns. */
  hit(name: FailpointName, key?: string): void
  /** Acts at a point in asynchronous code; a delay lets others go on. */
  reach(name: FailpointName, key?: string): Promise<void>
  /** What `createFailpoints` was given, so that a worker thread can be given the same. */
  readonly spec: string
}

/** What the action `throw` throws. */
export class FailpointThrown extends Error {}

/** The text of `TURNKEEP_FAILPOINTS` is not a list of points; the message says why. */
export class FailpointSyntaxError extends Error {}

type Action = { kind: 'kill' } | { kind: 'throw' } | { kind: 'delay'; ms: number }
type Rule = { name: FailpointName; action: Action; atHit: number | undefined; ifKeyHas: string | undefined; hits: number }

export const noFailpoints: Failpoints = { hit: () => {}, reach: async () => {}, spec: '' }

/**
 * Reads `name=action[@n][ if:text]`, separated by `;`. Actions: `kill` (SIGKILL to this process), `throw`, `delay:<ms>`.
 * `@n` acts at the n-th hit only, otherwise at every hit; `if:text` counts only hits whose key contains the text.
 * For example `settle.before-commit=kill@3; model.delta=kill if:poison`. Throws FailpointSyntaxError.
 */
export function createFailpoints(spec: string): Failpoints {
  const rules = spec
    .split(';')
    .filter((entry) => entry.trim() !== '')
    .map(parseRule)
  if (rules.length === 0) return noFailpoints

  function due(name: FailpointName, key: string | undefined): Action[] {
    const matching = rules.filter((rule) => rule.name === name && (rule.ifKeyHas === undefined || key?.includes(rule.ifKeyHas)))
    for (const rule of matching) rule.hits += 1
    return matching.filter((rule) => rule.atHit === undefined || rule.atHit === rule.hits).map((rule) => rule.action)
  }

  return {
    spec,
    hit(name, key) {
      for (const action of due(name, key)) {
        if (action.kind === 'delay') block(action.ms)
        else endHere(action.kind, name)
      }
    },
    async reach(name, key) {
      for (const action of due(name, key)) {
        if (action.kind === 'delay') await sleep(action.ms)
        else endHere(action.kind, name)
      }
    },
  }
}

function parseRule(entry: string): Rule {
  const match = /^\s*([^=\s]+)=(?:(kill|throw)|delay:(\d{1,6}))(?:@(\d{1,9}))?(?:\s+if:(.+?))?\s*$/s.exec(entry)
  if (!match) {
    throw new FailpointSyntaxError(`"${entry.trim()}" is not of the form name=kill|throw|delay:<ms>, with @<n> and if:<text> where wanted`)
  }
  const [, name = '', kind, ms, atHit, ifKeyHas] = match
  if (!isFailpointName(name)) throw new FailpointSyntaxError(`"${name}" is not the name of a failpoint`)
  if (atHit !== undefined && Number(atHit) === 0) throw new FailpointSyntaxError(`"${entry.trim()}": hits count from 1`)
  const action: Action = kind === 'kill' ? { kind } : kind === 'throw' ? { kind } : { kind: 'delay', ms: Number(ms) }
  return { name, action, atHit: atHit === undefined ? undefined : Number(atHit), ifKeyHas, hits: 0 }
}

function isFailpointName(name: string): name is FailpointName {
  return Object.hasOwn(failpointNames, name)
}

function endHere(kind: 'kill' | 'throw', name: FailpointName): never {
  if (kind === 'throw') throw new FailpointThrown(`failpoint ${name}`)
  process.kill(process.pid, 'SIGKILL')
  // The signal may arrive a moment later, and nothing after this point may happen.
  for (;;) block(Infinity)
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
