/** Reciprocal rank fusion: merges ranked lists whose scores cannot be compared with each other. */

// The value from Cormack, Clarke and Büttcher (2009). With it, the first item of one list never beats an item near the top of both.
const k = 60

/** Returns the ids best first: ids in several lists, or near the top, come first. Equal scores keep the order of the lists. */
export function fuse<Id>(lists: Id[][]): { id: Id; score: number }[] {
  const scores = new Map<Id, number>()
  for (const list of lists) for (const [rank, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (k + rank + 1))
  return [...scores].map(([id, score]) => ({ id, score })).toSorted((a, b) => b.score - a.score)
}
