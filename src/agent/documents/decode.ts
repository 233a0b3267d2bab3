/**
 * Decodes bytes to text: UTF-8, UTF-16 with a byte order mark, and the encoding that an HTML page or a content type names. Anything else is
 * refused, because a wrong guess would put unreadable text into the index and into prompts.
 */
import { DocumentRefused } from './limits.ts'

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
export function decodeText({ bytes, mediaType, isHtml }: Encoded): string {
  const text = decoded(bytes, [markOf(bytes), charsetOf(mediaType), isHtml ? metaCharset(bytes) : undefined], isHtml)
  if (text.length - text.replace(controls, '').length > text.length * maxControls)
    throw new DocumentRefused('This file is not text: it contains too many control characters. If it is UTF-16, save it as UTF-8.')
  return text
}

function decoded(bytes: Uint8Array, named: (string | undefined)[], isHtml: boolean): string {
  const charset = named.find((one) => one !== undefined) ?? 'utf-8'
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes)
  } catch (error) {
    // Like browsers, read a page with no or an unknown encoding as windows-1252, in which every byte is valid.
    if (isHtml && (error instanceof RangeError || named.every((one) => one === undefined)))
      return new TextDecoder('windows-1252').decode(bytes)
    if (error instanceof RangeError)
      throw new DocumentRefused(`This text declares the unsupported encoding "${charset}". Save it as UTF-8.`)
    throw new DocumentRefused(
      charset === 'utf-8'
        ? 'This file is not valid UTF-8: it has another encoding or is not text. Save it as UTF-8.'
        : `This file declares the encoding ${charset} but is not valid text in it. Save it as UTF-8.`,
    )
  }
}

function markOf(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined
}

function charsetOf(mediaType: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(mediaType ?? '')?.[1]
}

function metaCharset(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, metaWithinBytes)).toString('latin1')
  const named = /<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)/i.exec(head)?.[1]
  // The meta tag could be read as single bytes, so the page cannot be UTF-16.
  return named !== undefined && /^utf-?16/i.test(named) ? 'utf-8' : named
}
