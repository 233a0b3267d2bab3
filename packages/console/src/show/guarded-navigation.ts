/** Lets a guard ask before a navigation of the router: by a link, the command palette, a shortcut, or a selection. */
import type { AroundNavHandler } from 'wouter'

/** Returns whether it asks first, and then calls `go` if the answer is yes. `path` contains the base, but no query. */
type Guard = (path: string, go: () => void) => boolean

const guards = new Set<Guard>()

/** Returns what removes it. */
export function addGuard(guard: Guard): () => void {
  guards.add(guard)
  return () => void guards.delete(guard)
}

/** A sign-out leaves every page. */
export const signOutPath = ''

/** Calls `go` at once, or after a guard has asked. Only one guard asks. */
export function guarded(path: string, go: () => void): void {
  if (![...guards].some((guard) => guard(path, go))) go()
}

/** No guard asks if the page is replaced: what it shows has been created or deleted, or only its query changes. */
export const aroundNav: AroundNavHandler = (navigate, to, options) => {
  const go = (): void => navigate(to, options)
  if (options?.replace) go()
  else guarded(to.split(/[?#]/, 1)[0]!, go)
}
