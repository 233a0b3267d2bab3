/** What a list of named things is to a Select: two of one name are told apart by the end of their ids, and a chosen one that is gone stays visible. */
export function chooseAmong(things: { id: string; name: string }[] | undefined, chosen: string | null): { value: string; label: string }[] {
  const count = new Map<string, number>()
  for (const { name } of things ?? []) count.set(name, (count.get(name) ?? 0) + 1)
  const options = (things ?? []).map(({ id, name }) => ({ value: id, label: count.get(name) === 1 ? name : `${name} · …${id.slice(-6)}` }))
  const isGone = chosen !== null && things !== undefined && !things.some(({ id }) => id === chosen)
  return isGone ? [...options, { value: chosen, label: chosen }] : options
}
