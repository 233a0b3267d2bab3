/**
 * The answer of an HTTP tool as text for the model: what it is, the text, and a note where something is missing. Clean, bounded, and without any
 * secret of the tool, whatever the server says back. Pure.
 */
import { cleanText } from '../clean-text.ts'
import { encodeComponent } from './placeholders.ts'

export type HttpAnswer = { status: number; contentType: string | null; body: Uint8Array; truncated: boolean }

// Some 8,000 tokens; a tool that answers more has to be asked a narrower question.
const maxBytes = 32_768
// Of an error, which says what is wrong at its beginning or nowhere.
const maxErrorBytes = 4096
const cutNote = '\n[The answer is longer and is cut here.]'

export function answerText(answer: HttpAnswer, secrets: string[]): { text: string; isError: boolean } {
  const isError = answer.status >= 400
  const type = mediaType(answer.contentType)
  const head = `Status ${answer.status}${type === '' ? '' : `, ${type}`}`
  if (answer.body.length === 0) return { text: `${head}, without content.`, isError }
  const said = textOf(answer, type)
  if (said === undefined) return { text: `${head}: the answer is not text and is left out.`, isError }
  const text = withoutSecrets(`${head}:\n${cleanText(said)}`, secrets)
  return { text: fitting(text, isError ? maxErrorBytes : maxBytes, answer.truncated), isError }
}

/** What may be a tool's own word: type and subtype alone, since a server may write anything there. */
function mediaType(contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase()
  return /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(type) ? type : ''
}

const textTypes =
  /^(text\/.*|application\/(.*\+)?(json|xml|yaml)|application\/(x-ndjson|jsonl|csv|javascript|sql|toml|x-yaml|x-www-form-urlencoded))$/

/** Undefined where it is not text. */
function textOf({ contentType, body, truncated }: HttpAnswer, type: string): string | undefined {
  if (textTypes.test(type)) return decoderOf(contentType).decode(body, { stream: truncated })
  // Servers that say nothing, or only that it is bytes: text is what could be nothing else.
  if (type !== '' && type !== 'application/octet-stream') return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: truncated })
    // oxlint-disable-next-line no-control-regex
    return /[\0-\x08\x0e-\x1f]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** What is broken in it becomes U+FFFD. */
function decoderOf(contentType: string | null): InstanceType<typeof TextDecoder> {
  const [, label] = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? '') ?? []
  try {
    return new TextDecoder(label ?? 'utf-8')
  } catch {
    return new TextDecoder()
  }
}

// A shorter word may well be said by a tool itself; tokens and passwords in use are longer. None shorter is saved (`checkTools`).
export const minSecret = 4

/** Also as they look in a URL, in JSON and in base64. */
export function withoutSecrets(text: string, secrets: string[]): string {
  const forms = secrets.filter((secret) => secret.length >= minSecret).flatMap(formsOf)
  const longestFirst = [...new Set(forms)].toSorted((one, other) => other.length - one.length)
  return longestFirst.reduce((shown, form) => shown.replaceAll(form, '[secret]'), text)
}

function formsOf(secret: string): string[] {
  const inUrl = [encodeURIComponent(secret.toWellFormed()), encodeComponent(secret)]
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    ...inUrl,
    ...inUrl.map((form) => form.replaceAll(/%../g, (escape) => escape.toLowerCase())),
    inJson,
    // PHP, Go and .NET escape more than JSON asks for
    inJson.replaceAll('/', '\\/'),
    escaped(inJson, /[<>&]/g),
    escaped(inJson.replaceAll('\\"', '"'), /[<>&'"+`]/g, (hex) => hex.toUpperCase()),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('base64url'),
  ]
}

const escaped = (text: string, characters: RegExp, write = (hex: string): string => hex): string =>
  text.replaceAll(characters, (character) => `\\u00${write(character.charCodeAt(0).toString(16))}`)

/** At most so many bytes with the note, cut between two characters. */
export function fitting(text: string, most = maxBytes, truncated = false): string {
  const bytes = Buffer.from(text)
  if (bytes.length + (truncated ? cutNote.length : 0) <= most) return truncated ? text + cutNote : text
  // a decoder that waits for more keeps a character back that is not whole
  return new TextDecoder().decode(bytes.subarray(0, most - cutNote.length), { stream: true }) + cutNote
}
