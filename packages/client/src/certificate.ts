/** Tells a certificate that the runtime does not trust from the other ways in which a connection fails. Decides nothing of what follows. */

// Those of OpenSSL, as Node and Bun name them.
const codes =
  /^(?:CERT_|DEPTH_ZERO_|UNABLE_TO_GET_ISSUER_CERT|(?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|ERR_TLS_CERT_ALTNAME_INVALID)$)|SELF_SIGNED/
// Deno has no code for it.
const words = /\binvalid peer certificate\b/

/** `error` is what fetch threw; the reason may be a cause of its cause. */
export function distrustsCertificate(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const named = 'code' in error && typeof error.code === 'string' && codes.test(error.code)
  return named || words.test(error.message) || distrustsCertificate(error.cause)
}
