/** A line diff of two texts with a little context. */

/** `count` is the number of unchanged lines that are left out. */
export type DiffLine = { sign: ' ' | '+' | '-'; text: string } | { count: number }

const context = 2
// A table of this size is computed quickly. Larger differences are shown as removed and added text.
const maxCells = 1_000_000

export function diffLines(from: string, to: string): DiffLine[] {
  const [before, after] = [from.split('\n'), to.split('\n')]
  let begin = 0
  while (begin < before.length && begin < after.length && before[begin] === after[begin]) begin++
  let end = 0
  while (end < before.length - begin && end < after.length - begin && before.at(-1 - end) === after.at(-1 - end)) end++
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ sign: ' ', text }))
  const middle = diffMiddle(before.slice(begin, before.length - end), after.slice(begin, after.length - end))
  return shorten([...same(before.slice(0, begin)), ...middle, ...same(end === 0 ? [] : before.slice(-end))])
}

/** Computes the diff by the longest common subsequence. */
function diffMiddle(before: string[], after: string[]): DiffLine[] {
  const removed = (lines: string[]): DiffLine[] => lines.map((text) => ({ sign: '-', text }))
  const added = (lines: string[]): DiffLine[] => lines.map((text) => ({ sign: '+', text }))
  if (before.length * after.length > maxCells) return [...removed(before), ...added(after)]
  const width = after.length + 1
  const common = new Uint32Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i * width + j] =
        before[i] === after[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!)
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push({ sign: ' ', text: before[i]! })
      i++
      j++
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) lines.push(...removed([before[i++]!]))
    else lines.push(...added([after[j++]!]))
  }
  return [...lines, ...removed(before.slice(i)), ...added(after.slice(j))]
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
