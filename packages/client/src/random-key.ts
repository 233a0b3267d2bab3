/**
 * Creates an Idempotency-Key: a random UUID. It must be unique but need not be secret, because a key is only valid together with its API
 * key.
 */

type WithCrypto = { crypto?: { randomUUID?: () => string } }

export function randomKey(): string {
  const { crypto } = globalThis as WithCrypto
  // Node 18 has it only in a module that bundlers for other runtimes cannot resolve.
  return crypto?.randomUUID?.() ?? timedKey(Date.now(), Math.random)
}

/** UUID version 7: the time in milliseconds and 74 random bits. */
export function timedKey(nowMs: number, random: () => number): string {
  const time = nowMs.toString(16).padStart(12, '0')
  const bits = (hexDigits: number): string => Array.from({ length: hexDigits }, () => Math.floor(random() * 16).toString(16)).join('')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits(3)}-${'89ab'[Math.floor(random() * 4)]}${bits(3)}-${bits(12)}`
}
