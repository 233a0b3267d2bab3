import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TextCleaner, cleanText } from '../../src/agent/clean-text.ts'

// The characters of fault.model-text-hostile: NUL, lone surrogates, and text that looks like framing.
const piece = fc
  .array(fc.constantFrom('a', 'é', '\0', '\ud83d', '\ude00', '😀', '\u2028', '\n\ndata: x', '\uFFFD'), { maxLength: 6 })
  .map((parts) => parts.join(''))

test('text.well-formed: cleaned pieces add up to the cleaned whole, wherever the text was split', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const cleaner = new TextCleaner()
      const deltas = [...pieces.map((text) => cleaner.push(text)), cleaner.end()]
      assert.equal(deltas.join(''), cleanText(pieces.join('')))
      for (const delta of deltas) assert(delta.isWellFormed() && !delta.includes('\0'))
    }),
  )
})

test('text.well-formed: a surrogate pair split over two pieces is sent whole, also around a NUL', () => {
  const cleaner = new TextCleaner()
  assert.deepEqual([cleaner.push('a\ud83d'), cleaner.push('\0'), cleaner.push('\ude00b'), cleaner.end()], ['a', '', '😀b', ''])
})

test('text.well-formed: a lone surrogate at the end becomes U+FFFD, and clean text is unchanged', () => {
  const cleaner = new TextCleaner()
  assert.deepEqual([cleaner.push('x\ud83d'), cleaner.end(), cleaner.end()], ['x', '\uFFFD', ''])
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => assert.equal(cleanText(text), text.replaceAll('\0', ''))))
})
