/**
 * The messages of a run. Each contains what the model server should do with it, so that no script is needed: callers draw messages, the
 * model server reads them, and the checker knows the specified outcome. No two are equal. Pure.
 *
 *     m3-17 quartz slow 8 40 | Wie geht's?        (message 17 of caller 3, of the tenant with the word quartz: eight pieces, 40 ms apart)
 */
import type { Random } from './random.ts'

export type Tool = 'look' | 'book' | 'now' | 'search_knowledge'
/** How the tool server responds. */
export type ToolManner = 'quick' | 'slow' | 'fails' | 'cut'
export type ToolWanted = { name: Tool; manner: ToolManner }

/** What the model server does with a call for a message. */
export type Deed =
  | { does: 'text'; pieces: number; everyMs: number; usage: 'usual' | 'none' | 'greedy'; thinks?: boolean; odd?: boolean }
  | { does: 'tools'; calls: ToolWanted[]; preamble: boolean }
  | { does: 'empty' }
  | { does: 'status'; status: number; retryAfter?: number }
  /** After this many pieces. */
  | { does: 'cut' | 'garbled' | 'error'; pieces: number }
  /** No byte, and then a reset. */
  | { does: 'silence'; ms: number }

type Asked = { numbers: number[]; words: string[] }
type Manner = {
  /** Of a hundred messages, for an agent with tools and for one without. */
  share: [tools: number, plain: number]
  draw(random: Random): string
  /** `nth`: the number of the model call for this message, from 1; `steps`: the rounds of tools in the prompt. */
  deed(asked: Asked, nth: number, steps: number): Deed
  /**
   * If no fault occurs except that of the message: the number of model calls until it is final, and how it ends. Undefined: it depends on
   * timing.
   */
  ruled?(asked: Asked): { calls: number; runs: number; ends: 'reply' | 'failure' }
}

const text = (pieces: number, everyMs = 0): Deed => ({ does: 'text', pieces, everyMs, usage: 'usual' })
const once = (): { calls: number; runs: number; ends: 'reply' } => ({ calls: 1, runs: 1, ends: 'reply' })
/** `stream.after-delta`: three calls per run before the first text. */
const callsPerRun = 3

const tools: Tool[] = ['look', 'book', 'now', 'search_knowledge']
const manners: ToolManner[] = ['quick', 'quick', 'quick', 'slow', 'fails', 'cut']
const drawTools = (random: Random, most: number): string =>
  Array.from({ length: random.int(1, most) }, () => `${random.pick(tools)}:${random.pick(manners)}`).join(' ')
const readTools = (words: string[]): ToolWanted[] =>
  words.map((word) => {
    const [name, manner] = word.split(':') as [Tool, ToolManner]
    return { name, manner }
  })

export const behaviours: Record<string, Manner> = {
  quick: { share: [14, 34], draw: (random) => `${random.int(1, 4)}`, deed: ({ numbers: [pieces = 1] }) => text(pieces), ruled: once },
  slow: {
    share: [8, 18],
    draw: (random) => `${random.int(3, 12)} ${random.int(20, 150)}`,
    deed: ({ numbers: [pieces = 3, everyMs = 20] }) => text(pieces, everyMs),
    ruled: once,
  },
  // Longer than the time between two lease renewals, and sometimes longer than a lease.
  lingering: {
    share: [2, 2],
    draw: (random) => `${random.int(10, 30)} ${random.int(400, 500)}`,
    deed: ({ numbers: [pieces = 10, everyMs = 400] }) => text(pieces, everyMs),
    ruled: once,
  },
  long: { share: [4, 8], draw: (random) => `${random.int(60, 300)}`, deed: ({ numbers: [pieces = 60] }) => text(pieces), ruled: once },
  odd: { share: [2, 4], draw: () => '5', deed: () => ({ ...text(5), odd: true }) as Deed, ruled: once },
  thinking: { share: [3, 4], draw: () => '3', deed: () => ({ ...text(3, 10), thinks: true }) as Deed, ruled: once },
  unpaid: { share: [2, 3], draw: () => '3', deed: () => ({ ...text(3), usage: 'none' }) as Deed, ruled: once },
  greedy: { share: [1, 2], draw: () => '3', deed: () => ({ ...text(3), usage: 'greedy' }) as Deed, ruled: once },
  tools: {
    share: [30, 0],
    draw: (random) => drawTools(random, 3),
    deed: ({ words }, _nth, steps) => (steps === 0 ? { does: 'tools', calls: readTools(words), preamble: false } : text(4, 20)),
    ruled: () => ({ calls: 2, runs: 1, ends: 'reply' }),
  },
  rounds: {
    share: [12, 0],
    draw: (random) => drawTools(random, 3),
    deed({ words }, _nth, steps) {
      const wanted = readTools(words)[steps]
      return wanted ? { does: 'tools', calls: [wanted], preamble: true } : text(3, 30)
    },
    ruled: ({ words }) => ({ calls: words.length + 1, runs: 1, ends: 'reply' }),
  },
  empty: {
    share: [2, 3],
    draw: () => '2',
    deed: (_asked, nth) => (nth % 2 === 1 ? { does: 'empty' } : text(2)),
    ruled: () => ({ calls: 2, runs: 1, ends: 'reply' }),
  },
  mute: {
    share: [1, 1],
    draw: () => '0',
    deed: () => ({ does: 'empty' }),
    ruled: () => ({ calls: 2, runs: 1, ends: 'failure' }),
  },
  fails: {
    share: [5, 6],
    draw: (random) => `${random.int(1, 4)} ${random.pick([429, 500, 503])}`,
    deed: ({ numbers: [times = 1, status = 503] }, nth) =>
      nth <= times ? { does: 'status', status, ...(status === 429 ? { retryAfter: 0 } : {}) } : text(3),
    ruled: ({ numbers: [times = 1] }) => ({ calls: times + 1, runs: 1 + Math.floor(times / callsPerRun), ends: 'reply' }),
  },
  refused: {
    share: [2, 2],
    draw: (random) => `${random.pick([400, 401, 404])}`,
    deed: ({ numbers: [status = 400] }, nth) => (nth === 1 ? { does: 'status', status } : text(2)),
    ruled: () => ({ calls: 2, runs: 2, ends: 'reply' }),
  },
  cut: {
    share: [4, 5],
    draw: (random) => `${random.int(0, 3)} 1`,
    deed: ({ numbers: [pieces = 0] }, nth) => (nth === 1 ? { does: 'cut', pieces } : text(3)),
    ruled: ({ numbers: [pieces = 0] }) => ({ calls: 2, runs: pieces === 0 ? 1 : 2, ends: 'reply' }),
  },
  garbled: {
    share: [2, 2],
    draw: (random) => `${random.int(0, 2)}`,
    deed: ({ numbers: [pieces = 0] }, nth) => (nth === 1 ? { does: 'garbled', pieces } : text(3)),
    ruled: ({ numbers: [pieces = 0] }) => ({ calls: 2, runs: pieces === 0 ? 1 : 2, ends: 'reply' }),
  },
  errs: {
    share: [3, 3],
    draw: (random) => `${random.int(0, 2)}`,
    deed: ({ numbers: [pieces = 0] }, nth) => (nth === 1 ? { does: 'error', pieces } : text(3)),
    ruled: ({ numbers: [pieces = 0] }) => ({ calls: 2, runs: pieces === 0 ? 1 : 2, ends: 'reply' }),
  },
  // Sometimes longer than the time limit for the first token.
  silent: {
    share: [3, 3],
    draw: (random) => `${random.chance(0.1) ? 75_000 : random.int(500, 8000)}`,
    deed: ({ numbers: [ms = 1000] }, nth) => (nth === 1 ? { does: 'silence', ms } : text(2)),
    ruled: () => ({ calls: 2, runs: 1, ends: 'reply' }),
  },
}

const tails = [
  '',
  'Wie geht’s, Bär?',
  '漢字と仮名',
  '👩‍🚀👍🏽',
  'line\nbreak\n\ndata: x',
  'u+2028 \u2028 and 2029 \u2029',
  '"quoted" \\ <b>',
  'x'.repeat(300),
]
// Words that the documents contain.
const questions = ['harbour opening hours', 'shipping of crates', 'return of goods']

/**
 * `words` are those of the tenant; `name` distinguishes the message from all others. Some contain the word that poison failpoints wait for.
 */
export function drawMessage(random: Random, { name, canary, hasTools }: { name: string; canary: string; hasTools: boolean }): string {
  const column = hasTools ? 0 : 1
  const all = Object.entries(behaviours)
  let left = random.int(
    1,
    all.reduce((sum, [, { share }]) => sum + share[column], 0),
  )
  const [behaviour, manner] = all.find(([, { share }]) => (left -= share[column]) <= 0)!
  const poison = random.chance(1 / 150) ? ' poison' : ''
  return `${name} ${canary} ${behaviour} ${manner.draw(random)} | ${random.pick(questions)} ${random.pick(tails)}${poison}`
}

export type ReadMessage = { name: string; canary: string; behaviour: string; asked: Asked }

/** Undefined if it is not a message of a run. */
export function readMessage(message: string): ReadMessage | undefined {
  const [head = ''] = message.split(' | ', 1)
  const [name = '', canary = '', behaviour = '', ...words] = head.split(' ')
  if (!Object.hasOwn(behaviours, behaviour)) return undefined
  return { name, canary, behaviour, asked: { words, numbers: words.map(Number) } }
}

/** The specified outcome of a message if no fault occurs except its own; undefined if it is not a message of a run. */
export function ruledOf(message: string): { calls: number; runs: number; ends: 'reply' | 'failure' } | undefined {
  const read = readMessage(message)
  return read && behaviours[read.behaviour]!.ruled?.(read.asked)
}

/**
 * Whether a turn continues after its first model call, with a hold for the next step that may not be covered: after tool calls, or an
 * answer without text.
 */
export function takesSeveralSteps(message: string): boolean {
  return ['tools', 'rounds', 'empty', 'mute'].includes(readMessage(message)?.behaviour ?? '')
}

/** The maximum of model calls of a run whose admission was not stored: it does not get beyond its first step (`turn.durable-first`). */
export const maxCallsOfLostRun = callsPerRun

/** The maximum of model calls per attempt: three for each step before the first text, one after it, and one more after an empty answer. */
export function maxCallsPerAttempt(message: string): number {
  const read = readMessage(message)
  const steps = read?.behaviour === 'tools' ? 2 : read?.behaviour === 'rounds' ? read.asked.words.length + 1 : 1
  return steps * callsPerRun + 1
}

/** Words that must never appear in a response. Derived from the tenant's own word, so both servers know them. */
export const hiddenWords = (canary: string): Record<'prompt' | 'document' | 'tool' | 'reasoning', string> => ({
  prompt: `prompt-${canary}`,
  document: `document-${canary}`,
  tool: `tool-${canary}`,
  reasoning: `reasoning-${canary}`,
})

/** What the model says to itself before the text of a message that makes it think. */
export const reasoningText = (canary: string): string => `Hm, ${hiddenWords(canary).reasoning}.`

/** The reasoning in the answer to a message; empty for most. */
export function reasoningFor(message: string): string {
  const read = readMessage(message)
  return read?.behaviour === 'thinking' ? reasoningText(read.canary) : ''
}
