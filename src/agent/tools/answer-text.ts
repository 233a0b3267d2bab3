/**
 * Turns the answer of an HTTP tool into text for the model: the status and content type, then the text, then a note if it was cut. The
 * result is clean, bounded, and contains none of the tool's secrets, whatever the server sends back.
 */
import { cleanText } from '../clean-text.ts'
import { withoutSecrets } from './redact.ts'

export type HttpAnswer = { status: number; contentType: string | null; body: Uint8Array; truncated: boolean }

// About 8,000 tokens. An answer that is longer should be split by asking for less.
const maxBytes = 32_768
// For error answers, which usually say what is wrong at the start.
const maxErrorBytes = 4096
// How many characters one character of a secret may become.
const maxEncoded = 16
const cutNote = '\n[The answer is longer and is cut here.]'

export function answerText(answer: HttpAnswer, secrets: string[]): { text: string; isError: boolean } {
  const isError = answer.status >= 400
  const type = mediaType(answer.contentType)
  const head = `Status ${answer.status}${type === '' ? '' : `, ${type}`}`
  if (answer.body.length === 0) return { text: `${head}, without content.`, isError }
  const said = textOf(answer, type)
  if (said === undefined) return { text: `${head}: the answer is not text and is left out.`, isError }
  return { text: redacted(`${head}:\n${cleanText(said)}`, secrets, { ...answer, most: isError ? maxErrorBytes : maxBytes }), isError }
}

/** Returns type and subtype only, in lower case, or an empty string if they are not valid: a server can put any text into this header. */
function mediaType(contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  return /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(type) ? type : ''
}

const textTypes =
  /^(text\/.*|application\/(.*\+)?(json|xml|yaml)|application\/(x-ndjson|jsonl|csv|javascript|sql|toml|x-yaml|x-www-form-urlencoded))$/

/** Returns the decoded body, or undefined if it is not text. `type`: the media type without parameters. */
export function textOf(
  { contentType, body, truncated }: Omit<HttpAnswer, 'status'>,
  type: string = mediaType(contentType),
): string | undefined {
  if (textTypes.test(type)) return decoderOf(contentType).decode(body, { stream: truncated })
  // The server sent no content type, or only that of arbitrary bytes. Accept the body if it is valid UTF-8 without control characters.
  if (type !== '' && type !== 'application/octet-stream') return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: truncated })
    // oxlint-disable-next-line no-control-regex
    return /[\0-\x08\x0e-\x1f]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** Returns a decoder for the declared charset, or for UTF-8 if it is unknown. Invalid bytes become U+FFFD. */
function decoderOf(contentType: string | null): InstanceType<typeof TextDecoder> {
  const [, label] = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? '') ?? []
  try {
    return new TextDecoder(label ?? 'utf-8')
  } catch {
    return new TextDecoder()
  }
}

/** Returns the text without secrets, cut to `most` bytes. Only what could be shown is searched. */
export function redacted(text: string, secrets: string[], { most = maxBytes, truncated = false } = {}): string {
  const longest = Math.max(0, ...secrets.map((secret) => secret.length))
  // A secret that starts within the text that is shown is searched as a whole, however it is encoded.
  const searched = text.slice(0, 2 * most + maxEncoded * longest)
  return fitting(withoutSecrets(searched, secrets), most, truncated || searched.length < text.length)
}

/**
 * Returns the text cut to `most` bytes including the note that it was cut, at a character boundary. `truncated`: add the note in any case.
 */
export function fitting(text: string, most = maxBytes, truncated = false): string {
  const bytes = Buffer.from(text)
  if (bytes.length + (truncated ? cutNote.length : 0) <= most) return truncated ? text + cutNote : text
  // In streaming mode the decoder holds back an incomplete character at the end.
  return new TextDecoder().decode(bytes.subarray(0, most - cutNote.length), { stream: true }) + cutNote
}
