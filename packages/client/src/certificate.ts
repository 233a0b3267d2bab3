/** Distinguishes an untrusted certificate from other connection failures. */

// The codes of OpenSSL, as Node and Bun name them.
const codes =
  /^(?:CERT_|DEPTH_ZERO_|UNABLE_TO_GET_ISSUER_CERT|(?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|ERR_TLS_CERT_ALTNAME_INVALID)$)|SELF_SIGNED/
// Deno has no code for it.
const words = /\binvalid peer certificate\b/

/** `error` is what fetch threw. The reason may be a cause of its cause. */
export function distrustsCertificate(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const named = 'code' in error && typeof error.code === 'string' && codes.test(error.code)
  return named || words.test(error.message) || distrustsCertificate(error.cause)
}
