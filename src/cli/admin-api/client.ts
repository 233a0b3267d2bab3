/**
 * The admin API as the commands call it: one request, or all pages of a list. What the API refuses is said with its code, words and request
 * id. Never retries, never follows a redirect with the token. Surfaces: Admin API.
 */
import type { Environment } from '../../config/config.ts'
import { adminUrl, findAdminToken, readAddressSettings } from './address.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'

export type Fields = Record<string, unknown>
export type Query = Record<string, string | undefined>
/** `body` goes as JSON, `form` as multipart/form-data; `signal` ends it before its time. */
export type Call = { query?: Query; body?: unknown; form?: FormData; headers?: Record<string, string>; signal?: AbortSignal | undefined }
export type Page = { data: Fields[]; nextCursor: string | null }

export type AdminClient = {
  /** The base address that is called. */
  readonly url: string
  /** The answer's JSON; an answer without a body is an empty object. Throws CommandFailed. */
  call(method: string, path: string, call?: Call): Promise<Fields>
  /** Whatever is answered, as soon as its head is there; the body is the caller's to read. Rejects with fetch's own error, at the signal too. */
  open(method: string, path: string, call: Call & { signal: AbortSignal }): Promise<Response>
  /** Newest first, page by page, at most `limit` of them in all. Throws CommandFailed. */
  pages(path: string, limit?: number, query?: Query, signal?: AbortSignal): AsyncGenerator<Page>
}

// Above the 20 s of a provider's test, the longest call.
const timeoutMs = 30_000
// 20 MiB at half a megabit a second.
const uploadMs = 330_000
const maxPage = 100

/** Throws CommandFailed with code 2 where no address or no token is known. */
export function createAdminClient(environment: Environment, { url: flag }: { url?: string | undefined }): AdminClient {
  const config = readAddressSettings(environment)
  const url = adminUrl(config, flag)
  const token = findAdminToken(config)
  if (token === undefined) {
    throw new CommandFailed(
      2,
      `there is no admin token: set TURNKEEP_ADMIN_TOKEN, or TURNKEEP_DATA_DIR to the server's data folder (${config.dataFolder} has no admin.token)`,
    )
  }

  function open(method: string, path: string, { query = {}, body, form, headers = {}, signal }: Call & { signal: AbortSignal }) {
    const search = new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined))
    return fetch(`${url}/admin/v1${path}${search.size > 0 ? `?${search}` : ''}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      redirect: 'manual',
      signal,
      ...(form ? { body: form } : body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async function call(method: string, path: string, given: Call = {}): Promise<Fields> {
    let response: Response
    let text: string
    const timeout = AbortSignal.timeout(given.form ? uploadMs : timeoutMs)
    try {
      response = await open(method, path, { ...given, signal: given.signal ? AbortSignal.any([given.signal, timeout]) : timeout })
      text = await response.text()
    } catch (error) {
      throw new CommandFailed(2, `no answer from ${url} (${causeOf(error)}): is the server running, and is this its address? (--url)`)
    }
    const answered = parseFields(text)
    if (response.ok && (answered || text === '')) return answered ?? {}
    throw new CommandFailed(...refusal(response, answered, url))
  }

  async function* pages(path: string, limit = Infinity, query: Query = {}, signal?: AbortSignal): AsyncGenerator<Page> {
    let cursor: string | undefined
    for (let left = limit; left > 0;) {
      const page = readPage(await call('GET', path, { query: { ...query, limit: String(Math.min(left, maxPage)), cursor }, signal }))
      yield page
      if (page.nextCursor === null) return
      cursor = page.nextCursor
      left -= page.data.length
    }
  }

  return { url, open, call, pages }
}

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Undefined for what is no JSON object. */
export function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function readPage({ data, next_cursor: nextCursor }: Fields): Page {
  if (Array.isArray(data) && data.every(isFields) && (nextCursor === null || typeof nextCursor === 'string')) return { data, nextCursor }
  throw new CommandFailed(2, 'the answer is no page of a list: is this the address of Turnkeep, and of this version?')
}

/** The envelope in words; where there is none, somebody else answered. */
function refusal(response: Response, answered: Fields | undefined, url: string): [1 | 2, string] {
  const error = answered?.['error']
  if (isFields(error) && typeof error['code'] === 'string') {
    const hint = error['code'] === 'unauthorized' ? `\nThe token is of another server, or has changed: is ${url} the one you mean?` : ''
    return [1, `${String(error['message'])} (${error['code']}, ${response.status}, request ${String(error['request_id'])})${hint}`]
  }
  const location = response.headers.get('location')
  const redirect = location === null ? '' : ` and a redirect to ${location}; name the address behind it with --url`
  return [2, `${url} answered ${response.status} without an answer of Turnkeep${redirect || ': is it the right address?'}`]
}
