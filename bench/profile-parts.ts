/**
 * A CPU profile of the server by the parts of a turn: every sample counts for the nearest frame above it that belongs to a part, so the
 * runtime's time counts for the code that called it. The table of paths is here. Time that matches no path is reported separately. Pure.
 */

/** As written by `node --cpu-prof`; times are microseconds of the machine's monotonic clock. */
export type CpuProfile = {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[]
  startTime: number
  samples: number[]
  timeDeltas: number[]
}

/** For the main thread; the first match counts. */
const mainParts: [part: string, path: RegExp][] = [
  ['SSE out', /\/src\/http\/public\/(event-stream|slow-reader)\.ts$/],
  ['window', /\/src\/access\/(rate-window|redis-window|store-window|deadline)\.ts$|\/node_modules\/(ioredis|@ioredis|redis-\w+)\//],
  ['auth', /\/src\/access\//],
  ['model client', /\/src\/agent\/(models\/|guard\/undici\.ts)|\/node_modules\/(undici|@ai-sdk)\//],
  ['prompt and loop', /\/src\/agent\//],
  ['settle', /\/src\/turn\/(settlement|turn-writes)\.ts$|\/src\/ledger\//],
  [
    'batches, hand-over to the store',
    /\/src\/turn\/batcher\.ts$|\/src\/store\/|\/node_modules\/(pg|pg-\w+|postgres-\w+)\/|^node:internal\/worker/,
  ],
  ['admit and run', /\/src\/turn\//],
  [
    'log and metrics',
    /\/src\/observability\/|\/src\/http\/edge\/access-log\.ts$|\/node_modules\/(pino|sonic-boom|thread-stream|prom-client)\//,
  ],
  ['HTTP in', /\/src\/http\/|\/node_modules\/|^node:_http|^node:internal\/http/],
]

/** For the threads of the store. */
const storeParts: [part: string, path: RegExp][] = [
  ['store thread: admit', /\/src\/store\/sqlite\/(admit|history)\.ts$/],
  ['store thread: settle', /\/src\/store\/sqlite\/end-turn\.ts$/],
  ['store thread: commit and flush', /\/src\/store\/sqlite\/group-commit\.ts$/],
  ['store thread: the rest', /./],
]

const itself: Record<string, string> = {
  '(garbage collector)': 'GC',
  '(idle)': 'idle',
  // Outside of JavaScript and of anything it calls: sockets, epoll, compiling.
  '(program)': 'native',
}
const rest = 'Node itself'

/** In the order of a turn. */
export const partsInOrder = [
  'HTTP in',
  'auth',
  'window',
  'admit and run',
  'prompt and loop',
  'model client',
  'SSE out',
  'settle',
  'batches, hand-over to the store',
  'store thread: admit',
  'store thread: settle',
  'store thread: commit and flush',
  'store thread: the rest',
  'log and metrics',
  rest,
  'native',
  'GC',
  'idle',
]

/** Microseconds of each part between two times of the profile's clock. */
export function byPart(profile: CpuProfile, thread: 'main' | 'store', from: number, to: number): Map<string, number> {
  const parts = partsOfNodes(profile, thread)
  const sums = new Map<string, number>()
  let at = profile.startTime
  for (const [index, node] of profile.samples.entries()) {
    const delta = profile.timeDeltas[index]!
    at += delta
    if (at < from || at > to) continue
    const part = parts.get(node)!
    sums.set(part, (sums.get(part) ?? 0) + delta)
  }
  return sums
}

/** Assigns nodes from the root down: a node that matches no path counts for its caller. */
function partsOfNodes({ nodes }: CpuProfile, thread: 'main' | 'store'): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const children = new Set(nodes.flatMap((node) => node.children ?? []))
  const parts = new Map<number, string>()
  const claims = thread === 'main' ? mainParts : storeParts
  const open = nodes.filter(({ id }) => !children.has(id)).map((node) => ({ node, above: rest }))
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, above } = next
    const { functionName, url } = node.callFrame
    const claimed = itself[functionName] ?? claims.find(([, path]) => path.test(url))?.[0]
    // A file without its own part in a store thread counts for the statement that called it.
    const part = claimed === undefined || (claimed === storeParts.at(-1)![0] && above !== rest) ? above : claimed
    parts.set(node.id, part)
    for (const child of node.children ?? []) open.push({ node: byId.get(child)!, above: part })
  }
  return parts
}
