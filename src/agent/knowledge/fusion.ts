/** Reciprocal rank fusion: one list out of several whose scores cannot be compared. Pure. */

// The constant of Cormack, Clarke and Büttcher (2009): the first of one list never beats what stands high in both.
const k = 60

/** Best first; what stands in more lists, and higher, comes first. Equal scores keep the order of the lists. */
export function fuse<Id>(lists: Id[][]): { id: Id; score: number }[] {
  const scores = new Map<Id, number>()
  for (const list of lists) for (const [rank, id] of list.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (k + rank + 1))
  return [...scores].map(([id, score]) => ({ id, score })).toSorted((a, b) => b.score - a.score)
}
