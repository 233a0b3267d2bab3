/** A line diff of two texts with a little context. */
import { diffArrays } from 'diff'

/** `count` is the number of unchanged lines that are left out. */
export type DiffLine = { sign: ' ' | '+' | '-'; text: string } | { count: number }

const context = 2
// This many differences are computed quickly. With more, the whole text is shown as removed and added.
const maxEditLength = 1_000

export function diffLines(from: string, to: string): DiffLine[] {
  const [before, after] = [from.split('\n'), to.split('\n')]
  const changes = diffArrays(before, after, { maxEditLength }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ]
  return shorten(
    changes.flatMap(({ added, removed, value }) => value.map((text) => ({ sign: added ? '+' : removed ? '-' : ' ', text }) as const)),
  )
}

/** Replaces unchanged lines that are far from a difference with their number. */
function shorten(lines: DiffLine[]): DiffLine[] {
  const differs = lines.map((line) => 'sign' in line && line.sign !== ' ')
  const near = lines.map((_, index) => differs.slice(Math.max(0, index - context), index + context + 1).includes(true))
  const short: DiffLine[] = []
  for (const [index, line] of lines.entries()) {
    const last = short.at(-1)
    if (near[index]) short.push(line)
    else if (last && 'count' in last) last.count++
    else short.push({ count: 1 })
  }
  return short
}
