/**
 * Slows down who guesses the admin token at the sign-in: after some wrong ones an address is not heard for a while. In the memory of this
 * process, and bounded: rule `session.guesses`. There is no bound for all addresses together: with it a stranger could keep the operator out.
 */
import { isIPv6 } from 'node:net'

export type GuessLimit = {
  /** Seconds until the address is heard again; undefined: now. */
  waitSeconds(address: string): number | undefined
  wrong(address: string): void
  right(address: string): void
}

// Ten slips of the clipboard; at two a minute nobody guesses even a poor token.
const maxWrong = 10
const windowMs = 5 * 60 * 1000
// Half a megabyte. Beyond it the address is forgotten whose first guess is the longest ago.
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
      // Anew at the end: the first one of the map is the oldest.
      windows.delete(network)
      if (windows.size >= maxAddresses) windows.delete(windows.keys().next().value!)
      windows.set(network, { endsAt: monotonicMs() + windowMs, wrong: 1 })
    },
    right: (address) => void windows.delete(networkOf(address)),
  }
}

/** Of IPv6 the first half, which is one line's: whoever has one has all addresses behind it. */
function networkOf(address: string): string {
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
