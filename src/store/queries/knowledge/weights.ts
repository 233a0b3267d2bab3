/** The weight of each term of a query, by its BM25 rarity among the agent's own chunks, and the query for each engine. Pure. */

export type Weighed = {
  term: string
  /** How many of the agent's chunks contain it. */
  chunks: number
  /** The BM25 rarity, always above 0. */
  weight: number
}

/** Rarest first. `all`: the number of the agent's chunks. */
export function weigh(counts: ReadonlyMap<string, number>, all: number): Weighed[] {
  return [...counts]
    .filter(([, chunks]) => chunks > 0)
    .map(([term, chunks]) => ({ term, chunks, weight: Math.log(1 + (Math.max(all, chunks) - chunks + 0.5) / (chunks + 0.5)) }))
    .toSorted((a, b) => a.chunks - b.chunks)
}

// Steps between the least and the most significant term. A term costs a read of its postings each time it is in the expression.
const steps = 4
// BM25 of FTS5 takes one or two microseconds for each matching chunk: this many by single terms, and by pairs of more frequent ones.
const maxMatched = 5_000
const maxPaired = 6

/**
 * The MATCH expression for chunks with any of the terms. For many chunks, those with a rarer term or with two of the frequent ones, which
 * say little alone. FTS5 weighs a term by its rarity among the chunks of all agents, `everywhere`. A term that is more significant among
 * the agent's own chunks is repeated in the expression, which counts it several times.
 */
export function matchExpression(weighed: Weighed[], all: number, everywhere: number): string {
  let matched = 0
  const rare = weighed.filter(({ chunks }, index) => (matched += chunks) <= maxMatched || (index === 0 && weighed.length === 1))
  const common = weighed.slice(rare.length, rare.length + maxPaired)
  const times = timesOf(rare, everywhere)
  const singles = rare.flatMap(({ term }, index) => Array.from({ length: times[index]! }, () => `"${term}"`))
  const pairs = common
    .flatMap((a, index) => common.slice(index + 1).map((b) => ({ a, b, expected: (a.chunks * b.chunks) / Math.max(all, 1) })))
    .toSorted((one, other) => one.expected - other.expected)
  let paired = 0
  const few = pairs.filter(({ expected }, index) => (paired += expected) <= maxMatched || (index === 0 && singles.length === 0))
  if (few.length === 0 && singles.length === 0) return common.map(({ term }) => `"${term}"`).join(' OR ')
  return [...singles, ...few.map(({ a, b }) => `("${a.term}" AND "${b.term}")`)].join(' OR ')
}

/** Returns, in steps, how much more significant a term is among the agent's own chunks than among all. */
function timesOf(weighed: Weighed[], everywhere: number): number[] {
  const factors = weighed.map(({ chunks, weight }) => weight / Math.max(1e-6, Math.log((everywhere - chunks + 0.5) / (chunks + 0.5))))
  // A term in half of all chunks has no weight in FTS5, however often it is repeated.
  const usual = factors.filter((factor) => factor < 2)
  const most = Math.max(...usual, 0)
  if (usual.every((factor) => factor > 0.8 * most)) return weighed.map(() => 1)
  return factors.map((factor) => Math.max(1, Math.round((steps * Math.min(factor, most)) / most)))
}

// PostgreSQL takes about twenty microseconds for each chunk. The best six of 100,000 chunks are among far fewer.
const maxWanted = 600

/**
 * The tsquery for the chunks that are worth ranking: those with a rare term, and those with two or three of the others together, as long as
 * their expected number stays within a limit. Chunks with frequent words only are ranked only if there is nothing else.
 */
export function tsquery(weighed: Weighed[], all: number): string {
  const units: { terms: Weighed[]; expected: number }[] = []
  const likely = (terms: Weighed[]): number => terms.reduce((share, { chunks }) => share * Math.min(1, chunks / Math.max(all, 1)), all)
  for (const [i, a] of weighed.entries()) {
    units.push({ terms: [a], expected: a.chunks })
    for (const [j, b] of weighed.entries()) {
      if (j <= i) continue
      units.push({ terms: [a, b], expected: likely([a, b]) })
      if (weighed.length <= 16) for (const c of weighed.slice(j + 1)) units.push({ terms: [a, b, c], expected: likely([a, b, c]) })
    }
  }
  const chosen: Weighed[][] = []
  let expected = 0
  for (const unit of units.toSorted((a, b) => a.expected - b.expected || a.terms.length - b.terms.length)) {
    if (chosen.some((terms) => terms.every((term) => unit.terms.includes(term)))) continue
    if (chosen.length > 0 && expected + unit.expected > maxWanted) break
    chosen.push(unit.terms)
    expected += unit.expected
  }
  const needed = chosen.filter((terms) => !chosen.some((fewer) => fewer !== terms && fewer.every((term) => terms.includes(term))))
  return needed.map((terms) => `(${terms.map(({ term }) => `'${term}'`).join(' & ')})`).join(' | ')
}
