/** The spelling of an email address by which operators are found. */

/**
 * In lower case. Undefined for an address with characters that stand for others (Unicode NFKC): lower case makes a letter of some of them, so
 * it would be the address of someone else.
 */
export function normalizedEmail(given: string): string | undefined {
  const trimmed = given.trim()
  return trimmed.normalize('NFKC') === trimmed ? trimmed.toLowerCase() : undefined
}
