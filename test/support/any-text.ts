/**
 * Arbitrary text with every code point, including lone surrogates and U+0000. fast-check's own `binary` unit takes seconds to initialize.
 */
import fc from 'fast-check'

export function anyText(maxLength = 40): fc.Arbitrary<string> {
  return fc.array(fc.oneof(fc.nat(0x7f), fc.nat(0x10ffff)), { maxLength }).map((codePoints) => String.fromCodePoint(...codePoints))
}
