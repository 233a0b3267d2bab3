/**
 * One caller: its own users in one tenant, one message after the other, and sometimes what other callers do: disconnect, send one key many
 * times, return with an old one, send another body with it, send two messages at once, continue broken streams, cancel turns, not wait for
 * a reply, send invalid requests. Its actions are drawn from its own stream of the seed, message by message, so that neither a fault nor
 * another caller changes them. The number of retries depends on the run.
 */
import { setTimeout as pass } from 'node:timers/promises'
import { flaws } from '../history.ts'
import type { AdminChange, Flaw } from '../history.ts'
import { drawMessage, readMessage } from '../messages.ts'
import type { Random } from '../random.ts'
import { keptAlive } from './ask.ts'
import type { Key, Turn } from './about-turn.ts'
import type { Asking, Manner, Outcome } from './ask.ts'
import type { Testbed } from './operator.ts'

export type Book = {
  /** Every turn and how it ended. The final check reads them all again. */
  turns: { turn: Turn; outcome: Outcome | 'erased' }[]
}

export type CallerOptions = {
  number: number
  testbed: Testbed
  asking: Asking
  random: Random
  book: Book
  /** Erases an end user of this caller. Returns false if there was no response. */
  erase(change: Extract<AdminChange, { what: 'erase' }>, key: Key): Promise<void>
  stopped: AbortSignal
}

/** The API keys of the callers, repeated in this order. Every second pair shares a user. */
const roles = [
  'plain',
  'tools',
  'thin',
  'plain',
  'tools',
  'plain-limited',
  'switched',
  'plain-revoked',
  'tools-2',
  'poor',
  'plain',
  'plain-2',
  'capped',
  'capped',
]

// A conversation of some seconds; tens of thousands of turns in twenty minutes.
const restMs: [least: number, most: number] = [50, 900]

export async function runCaller({ number, testbed, asking, random, book, erase, stopped }: CallerOptions): Promise<void> {
  const connections = keptAlive()
  const key = testbed.key(roles[number % roles.length]!)
  const tenant = testbed.tenantOf(key)
  const hasTools = tenant.name === 'tools'
  const sibling = testbed.tenants.flatMap(({ keys }) => keys).find(({ name }) => name === `${key.name}-2`)
  const answered: Turn[] = []
  let conversation = 0
  let left = 0
  let user = ''

  function next(draw: Random): string {
    if (left-- > 0) return user
    left = draw.int(2, 9)
    user = userOf(number, conversation++)
    return user
  }

  /** The next message of the user. `mark` distinguishes those of one action. */
  function turnOf(count: number, draw: Random, mark = '', by = user): Turn {
    const name = `m${number}-${count}${mark}`
    return { key, user: by, idempotencyKey: keyTextOf(name, draw), message: drawMessage(draw, { name, canary: tenant.canary, hasTools }) }
  }

  async function resolve(turn: Turn, manner: Manner & { copies?: number }, draw: Random): Promise<void> {
    const entry: Book['turns'][number] = { turn, outcome: 'open' }
    book.turns.push(entry)
    entry.outcome = await asking.resolve(turn, manner, draw, connections)
    if (entry.outcome === 'replied' || entry.outcome === 'cancelled') answered.push(turn)
  }

  /** A normal message, sent in one of several ways. */
  function generate(count: number, draw: Random): Promise<void> {
    next(draw)
    const turn = turnOf(count, draw)
    return resolve(turn, mannerOf(draw, turn.message), draw)
  }

  const acts: Record<string, { share: number; act(count: number, draw: Random): Promise<unknown> }> = {
    generate: { share: 66, act: generate },
    'the same key many times': {
      share: 8,
      act(count, draw) {
        next(draw)
        return resolve(
          turnOf(count, draw),
          { transport: draw.pick(['chat', 'stream']), copies: draw.chance(0.1) ? 30 : draw.int(1, 4) },
          draw,
        )
      },
    },
    'two messages at once': {
      share: 4,
      act(count, draw) {
        next(draw)
        return Promise.all(
          ['a', 'b'].map((mark) => resolve(turnOf(count, draw, mark), mannerOf(draw.fork(mark)), draw.fork(`${mark} tries`))),
        )
      },
    },
    'a user of two callers': {
      share: 5,
      act(count, draw) {
        return resolve(turnOf(count, draw, '', `shared-${key.name}-${draw.int(0, 1)}`), mannerOf(draw), draw)
      },
    },
    'two bodies at once': {
      share: 2,
      act(count, draw) {
        next(draw)
        const one = turnOf(count, draw, 'a')
        const other = { ...turnOf(count, draw, 'b'), idempotencyKey: one.idempotencyKey }
        return Promise.all([one, other].map((turn, n) => resolve(turn, mannerOf(draw.fork(`${n}`)), draw.fork(`${n} tries`))))
      },
    },
    'one key text, two API keys': {
      share: sibling ? 3 : 0,
      act(count, draw) {
        next(draw)
        const one = turnOf(count, draw, 'a')
        const other = { ...turnOf(count, draw, 'b'), idempotencyKey: one.idempotencyKey, key: sibling! }
        return Promise.all([one, other].map((turn, n) => resolve(turn, mannerOf(draw.fork(`${n}`)), draw.fork(`${n} tries`))))
      },
    },
    'an old key': {
      share: 7,
      async act(_count, draw) {
        if (answered.length > 0) await asking.once(draw.pick(answered), { transport: draw.pick(['chat', 'stream']) }, draw, connections)
      },
    },
    'an old key with another body': {
      share: 2,
      async act(count, draw) {
        if (answered.length === 0) return
        const { idempotencyKey, user: by } = draw.pick(answered)
        const turn = { ...turnOf(count, draw, 'x', by), idempotencyKey }
        await asking.once(turn, { transport: draw.pick(['chat', 'stream']) }, draw, connections)
      },
    },
    nonsense: {
      share: 6,
      async act(count, draw) {
        const flaw = draw.pick(Object.keys(flaws) as Flaw[])
        const by = flaw === 'read-only' ? testbed.key('plain-read') : key
        await asking.once(
          { ...turnOf(count, draw, '', 'nobody'), key: by },
          { transport: draw.pick(['chat', 'stream']), flaw },
          draw,
          connections,
        )
      },
    },
    'a burst': {
      share: key.name === 'plain-limited' ? 10 : 0,
      act(count, draw) {
        const turn = turnOf(count, draw, '', `burst-${number}-${count}`)
        return resolve(turn, { transport: 'chat', copies: 40 }, draw)
      },
    },
    'forget a user': {
      share: 3,
      async act() {
        // Only a user of this caller without a running message: a caller does one thing at a time.
        const [gone, of] = [user, book.turns.filter((entry) => entry.turn.user === user && entry.turn.key.agentId === key.agentId)]
        if (of.length === 0 || of.some(({ outcome }) => outcome === 'open')) return
        // A refused message stored nothing to erase, and its key is still unused.
        for (const entry of of) if (entry.outcome !== 'refused') entry.outcome = 'erased'
        left = 0
        user = ''
        await erase({ what: 'erase', key: key.name, user: gone }, key)
      },
    },
  }
  const deck = Object.values(acts).flatMap(({ share, act }) => Array.from({ length: share }, () => act))

  for (let count = 0; !stopped.aborted; count++) {
    const draw = random.fork(`message ${count}`)
    await draw.pick(deck)(count, draw)
    await pass(draw.int(...restMs), undefined, { signal: stopped }).catch(() => undefined)
  }
  connections.destroy()
}

/** Users that a careless service would confuse: the same except for case, white space and normalization. */
function userOf(caller: number, conversation: number): string {
  const family = `é-${caller}-${Math.floor(conversation / 4)}`
  return [family, family.toUpperCase(), `${family} `, family.normalize('NFD')][conversation % 4]!
}

/** Mostly plain; sometimes with text that a careless service would truncate, quote or decode. */
function keyTextOf(name: string, draw: Random): string {
  return draw.chance(0.9)
    ? `k-${name}`
    : draw.pick([`"k-${name}"`, `k ${name} ключ`, `k-${name}-${'x'.repeat(255 - name.length - 3)}`, `K-${name}%20`])
}

/** A cancel has most to stop while the model is silent. */
function mannerOf(draw: Random, message = ''): Manner {
  const manner = connectionOf(draw)
  if (manner.transport === 'chat') return draw.chance(0.5) ? { ...manner, prefersAsync: true } : manner
  const delayMs = draw.chance(0.5) ? draw.int(0, 20) : draw.int(20, 600)
  // Most replies are short, so most requests are made early.
  const cancels = { afterEvents: draw.pick([0, 0, 0, 1, 2, 4]), delayMs, times: draw.chance(0.3) ? 2 : 1 }
  const leaves = draw.pick(['headers', 1, 2, 3, 5, 8] as const)
  const continued = draw.chance(0.8) ? { continues: true, ...(draw.chance(0.35) ? { leaves } : {}) } : {}
  return { ...manner, ...continued, ...(draw.chance(readMessage(message)?.behaviour === 'silent' ? 0.8 : 0.3) ? { cancels } : {}) }
}

function connectionOf(draw: Random): Manner {
  const transport = draw.pick(['chat', 'stream', 'stream'] as const)
  const how = draw.int(1, 100)
  if (how <= 70) return { transport }
  if (how <= 78) return { transport, leaves: 'waiting' }
  if (how <= 82) return { transport: 'stream', leaves: 'headers' }
  if (how <= 90) return { transport: 'stream', leaves: draw.int(1, 6) }
  if (how <= 95) return { transport, halfCloses: true }
  return { transport: 'stream', reads: 'slowly' }
}
