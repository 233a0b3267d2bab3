/**
 * Bytes to text: UTF-8, UTF-16 by its mark, and what an HTML page or a content type names. Text that is none of these is refused and not guessed
 * at: a wrong guess would be indexed, found by nobody and shown to a model. Pure.
 */
import { DocumentRefused } from './limits.ts'

export type Encoded = { bytes: Uint8Array; mediaType: string | null; isHtml: boolean }

// How far browsers look for a page's own word on its encoding.
const metaWithinBytes = 1024
// UTF-16 without its mark is often valid UTF-8, with a control character in every second place (Latin, Cyrillic). A text has a slip here and there.
const maxControls = 0.1
// All but tab, line feed, form feed and carriage return.
// oxlint-disable-next-line no-control-regex
const controls = /[\0-\x08\x0b\x0e-\x1f]/g

/** Without its mark. Throws DocumentRefused. */
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
    // Browsers read a page that says nothing, or something unheard of, as windows-1252, in which every byte means something.
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
  // A page whose own word could be read byte by byte is in no encoding of two bytes a character.
  return named !== undefined && /^utf-?16/i.test(named) ? 'utf-8' : named
}
