/** Ids that the page makes itself: Idempotency-Keys and fresh external users. `crypto.randomUUID` is not there on plain HTTP; this is. */
export function randomId(bytes = 16): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
