/**
 * Decodes bytes to text: UTF-8, UTF-16, and the encoding that an HTML page or a content type names. Other text is guessed, with a warning,
 * where it is clearly Western European, Japanese or Korean. Anything else is refused, because a wrong guess would put unreadable text into
 * the index and into prompts.
 */
import { DocumentRefused } from './limits.ts'
import type { Warnings } from './warnings.ts'

export type Encoded = { bytes: Uint8Array; mediaType: string | null; isHtml: boolean }

// Browsers look for the encoding in a meta tag only this far.
const metaWithinBytes = 1024
// UTF-16 without a byte order mark is often valid UTF-8 with a control character at every second position (Latin, Cyrillic). A real text
// may contain a few control characters, but not this share.
const maxControls = 0.1
// All except tab, line feed, form feed and carriage return.
// oxlint-disable-next-line no-control-regex
const controls = /[\0-\x08\x0b\x0e-\x1f]/g

/** Returns the text without a byte order mark. Throws DocumentRefused. */
export function decodeText({ bytes, mediaType, isHtml }: Encoded, warnings: Warnings): string {
  const named = [markOf(bytes), charsetOf(mediaType), isHtml ? pageCharset(bytes) : undefined].find((one) => one !== undefined)
  const text = (named === undefined ? unmarkedUtf16(bytes) : undefined) ?? decoded(bytes, named, isHtml, warnings)
  if (text.length - text.replace(controls, '').length > text.length * maxControls)
    throw new DocumentRefused('This file is not text: it contains too many control characters. If it is UTF-16, save it as UTF-8.')
  return text
}

function decoded(bytes: Uint8Array, named: string | undefined, isHtml: boolean, warnings: Warnings): string {
  const charset = named ?? 'utf-8'
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch (error) {
    const isUnknown = error instanceof RangeError
    const guess = named === undefined || (isHtml && isUnknown) ? guessed(bytes) : undefined
    if (guess !== undefined) {
      warnings.note('encoding')
      return guess
    }
    // Like browsers, read a page with no or an unknown encoding as windows-1252, in which every byte is valid.
    if (isHtml && (isUnknown || named === undefined)) {
      warnings.note('encoding')
      return new TextDecoder('windows-1252').decode(bytes)
    }
    if (isUnknown) throw new DocumentRefused(`This text declares the unsupported encoding "${charset}". Save it as UTF-8.`)
    throw new DocumentRefused(
      charset === 'utf-8'
        ? 'This file is not valid UTF-8: it has another encoding or is not text. Save it as UTF-8.'
        : `This file declares the encoding ${charset} but is not valid text in it. Save it as UTF-8.`,
    )
  }
}

// Encodings whose text proves itself: valid in every byte, and mostly in the script that it is for. Texts of other languages that happen to
// be valid are in scripts that are mixed at random.
const proofs: { encoding: string; script: RegExp; share: number }[] = [
  { encoding: 'shift_jis', script: /[\u3040-\u30ff]/g, share: 0.15 },
  { encoding: 'euc-jp', script: /[\u3040-\u30ff]/g, share: 0.15 },
  { encoding: 'euc-kr', script: /[\uac00-\ud7af]/g, share: 0.95 },
]
// oxlint-disable-next-line no-control-regex
const ascii = /[\0-\x7f]/g
const asciiLetters = /[a-z]/gi
// What Western European texts contain beyond ASCII.
const western = /[À-ÖØ-öø-ÿŒœŠšŽžŸ‘’‚“”„–—…•€£¥§©®™°·«»¡¿ªº\u00a0\u00ad]/g
const westernLetters = /[À-ÖØ-öø-ÿŒœŠšŽžŸ]/g

/** Undefined if no guess is good enough: unreadable text in an index is worse than a refusal. */
function guessed(bytes: Uint8Array): string | undefined {
  for (const { encoding, script, share } of proofs) {
    const text = strictly(encoding, bytes)
    if (text !== undefined && countOf(text, script) >= countOf(text, ascii, true) * share) return text
  }
  const text = new TextDecoder('windows-1252').decode(bytes)
  const strange = countOf(text, ascii, true) - countOf(text, western)
  // Other languages of one byte per letter have words of letters beyond ASCII; a Western word has one or two between others.
  const isWestern = strange === 0 && countOf(text, westernLetters) <= countOf(text, asciiLetters) && !/[À-ÖØ-öø-ÿ]{3}/.test(text)
  return isWestern ? text : undefined
}

/** `without`: counts the other characters. */
function countOf(text: string, pattern: RegExp, without = false): number {
  const rest = text.replace(pattern, '').length
  return without ? rest : text.length - rest
}

function strictly(encoding: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

// UTF-16 has a zero byte in every space and line end, and UTF-8 text has none anywhere.
const spaces = /[ \t\r\n\u3000-\u3002\uff0c]/g
const minSpaces = 0.02
const unlikely = /[\p{Cn}\p{Co}\p{Cs}]/gu

/** Returns the text if the bytes are UTF-16 without a byte order mark, in the order that gives it spaces. */
function unmarkedUtf16(bytes: Uint8Array): string | undefined {
  if (bytes.length % 2 !== 0 || bytes.length === 0) return undefined
  const isUtf8 = strictly('utf-8', bytes.subarray(0, metaWithinBytes))
  if (isUtf8 !== undefined && !bytes.includes(0)) return undefined
  return ['utf-16le', 'utf-16be']
    .map((encoding) => strictly(encoding, bytes))
    .find(
      (text) =>
        text !== undefined &&
        countOf(text, spaces) >= Math.max(1, text.length * minSpaces) &&
        countOf(text, controls) + countOf(text, unlikely) <= text.length / 100,
    )
}

function markOf(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined
}

function charsetOf(mediaType: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mediaType ?? '')?.[1]
}

/** The encoding that a page names: in its XML declaration, or in a meta tag. */
function pageCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, metaWithinBytes)).toString('latin1')
  const named =
    /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)/i.exec(head)?.[1] ??
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)/i.exec(head)?.[1]
  // The tag could be read as single bytes, so the page cannot be UTF-16.
  return named !== undefined && /^utf-?16/i.test(named) ? 'utf-8' : named
}
