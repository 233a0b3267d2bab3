/** Counts bytes that this process holds for others, by name, so that one of them cannot take the memory of all. */

export type ByteBudget = {
  /** Starts to count one thing for a name, which `grow` then adds to. */
  open(name: string): Share
}

export type Share = {
  /** Counts further bytes. Returns false if they are too many: then they are not counted. The only share of a name is never refused. */
  grow(bytes: number): boolean
  /** Call it once. */
  close(): void
}

export function createByteBudget({ maxOfOne, maxOfAll }: { maxOfOne: number; maxOfAll: number }): ByteBudget {
  const held = new Map<string, { bytes: number; shares: number }>()
  let total = 0
  return {
    open(name) {
      const own = held.get(name) ?? { bytes: 0, shares: 0 }
      own.shares++
      held.set(name, own)
      let counted = 0
      return {
        grow(bytes) {
          // No other name can shut one out completely.
          if (own.shares > 1 && (own.bytes + bytes > maxOfOne || total + bytes > maxOfAll)) return false
          counted += bytes
          own.bytes += bytes
          total += bytes
          return true
        },
        close() {
          own.bytes -= counted
          total -= counted
          if (--own.shares === 0) held.delete(name)
        },
      }
    },
  }
}
