/** IDs that the page creates: Idempotency-Keys and new end users. Unlike `crypto.randomUUID`, this works on plain HTTP. */
export function randomId(bytes = 16): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
