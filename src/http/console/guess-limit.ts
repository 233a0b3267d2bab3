/**
 * Counts wrong admin tokens by address: after several of them, further wrong ones are refused for a while (`session.guesses`,
 * `admin.guesses`). The right token never is. The counts are in the memory of this process, with a fixed maximum size.
 */
import { isIPv6 } from 'node:net'

export type GuessLimit = {
  /** Seconds until another wrong token of the address counts as the first; undefined if the address may send more now. */
  waitSeconds(address: string): number | undefined
  wrong(address: string): void
  right(address: string): void
}

// Ten attempts allow for paste errors.
const maxWrong = 10
const windowMs = 5 * 60 * 1000
// About half a megabyte. When the map is full, the address with the oldest first attempt is removed.
const maxAddresses = 4096

export function createGuessLimit(monotonicMs: () => number): GuessLimit {
  const windows = new Map<string, { endsAt: number; wrong: number }>()
  const openWindow = (address: string) => {
    const found = windows.get(address)
    return found && found.endsAt > monotonicMs() ? found : undefined
  }
  return {
    waitSeconds(address) {
      const window = openWindow(networkOf(address))
      if (!window || window.wrong < maxWrong) return undefined
      return Math.max(1, Math.ceil((window.endsAt - monotonicMs()) / 1000))
    },
    wrong(address) {
      const network = networkOf(address)
      const window = openWindow(network)
      if (window) return void window.wrong++
      // Reinserted at the end, so that the first entry of the map stays the oldest.
      windows.delete(network)
      if (windows.size >= maxAddresses) windows.delete(windows.keys().next().value!)
      windows.set(network, { endsAt: monotonicMs() + windowMs, wrong: 1 })
    },
    right: (address) => void windows.delete(networkOf(address)),
  }
}

/** What counts as one address. For IPv6 it is the /64 prefix: a single line has all addresses of its prefix. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [before = '', after] = address.split('::', 2)
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const left = groups(before)
  if (after !== undefined) while (left.length + groups(after).length < 8) left.push('0')
  return left
    .concat(groups(after ?? ''))
    .slice(0, 4)
    .join(':')
}
