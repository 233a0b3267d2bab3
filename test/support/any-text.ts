/** Any text at all: every code point, lone surrogates and U+0000 too. fast-check's own `binary` unit takes seconds to set itself up. */
import fc from 'fast-check'

export function anyText(maxLength = 40): fc.Arbitrary<string> {
  return fc.array(fc.oneof(fc.nat(0x7f), fc.nat(0x10ffff)), { maxLength }).map((codePoints) => String.fromCodePoint(...codePoints))
}
