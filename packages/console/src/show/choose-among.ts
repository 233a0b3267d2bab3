/**
 * The options of a Select for named things. Equal names are distinguished by the end of their IDs, and a selected item that no longer
 * exists stays visible.
 */
export function chooseAmong(things: { id: string; name: string }[] | undefined, chosen: string | null): { value: string; label: string }[] {
  const count = new Map<string, number>()
  for (const { name } of things ?? []) count.set(name, (count.get(name) ?? 0) + 1)
  const options = (things ?? []).map(({ id, name }) => ({ value: id, label: count.get(name) === 1 ? name : `${name} · …${id.slice(-6)}` }))
  const isGone = chosen !== null && things !== undefined && !things.some(({ id }) => id === chosen)
  return isGone ? [...options, { value: chosen, label: chosen }] : options
}
