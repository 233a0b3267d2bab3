/**
 * The client of the admin API for all commands: one request, or all pages of a list. An error of the API is reported with its message,
 * code, status and request ID. Repeats only what the server has not carried out because of the limits of the token (`admin.limits`), and never
 * follows a redirect, which would send the token to another address.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Environment } from '../../config/config.ts'
import { adminUrl, findAdminToken, readAddressSettings } from './address.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'

export type Fields = Record<string, unknown>
export type Query = Record<string, string | undefined>
/** `body` is sent as JSON, `form` as multipart/form-data. `signal` cancels the request. `timeoutMs`: of a call that takes longer than most. */
export type Call = {
  query?: Query
  body?: unknown
  form?: FormData
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  timeoutMs?: number
}
export type Page = { data: Fields[]; nextCursor: string | null }

export type AdminClient = {
  /** The base URL. */
  readonly url: string
  /**
   * Returns the JSON of the response, or an empty object if it has no body. Throws CommandFailed: 1 for an error of the API, otherwise 2.
   */
  call(method: string, path: string, call?: Call): Promise<Fields>
  /** Returns any response as soon as its headers arrive; the caller reads the body. Rejects with the error of fetch, including an abort. */
  open(method: string, path: string, call: Call & { signal: AbortSignal }): Promise<Response>
  /** Yields the body of a response of another media type in parts, such as a report as CSV. Throws CommandFailed as `call`. */
  download(path: string, accept: string, query?: Query): AsyncGenerator<Uint8Array>
  /** Yields the pages of a list, newest first, with at most `limit` items in total. Throws CommandFailed. */
  pages(path: string, limit?: number, query?: Query, signal?: AbortSignal): AsyncGenerator<Page>
}

// Longer than a provider test, which takes up to 20 s. Only a rerun takes longer.
const timeoutMs = 30_000
// Enough for 20 MiB at 0.5 Mbit/s.
const uploadMs = 330_000
// A report may read for this long before it sends its next part.
const stalledMs = 150_000
const maxPage = 100
// A window of requests takes a minute. A token that others use as well may find the next windows full, too.
const maxWaits = 10
const maxWaitSeconds = 60

/** Throws CommandFailed with code 2 if the address or the token is unknown. */
export function createAdminClient(environment: Environment, { url: flag }: { url?: string | undefined }): AdminClient {
  const config = readAddressSettings(environment)
  const url = adminUrl(config, flag)
  const token = findAdminToken(config)
  if (token === undefined) {
    throw new CommandFailed(
      2,
      `no admin token found: set TURNKEEP_ADMIN_TOKEN, or set TURNKEEP_DATA_DIR to the data folder of the server (${config.dataFolder} has no admin.token)`,
    )
  }

  function send(method: string, path: string, { query = {}, body, form, headers = {}, signal, timeoutMs: limitMs }: Call) {
    const signals = [signal, limitMs === undefined ? undefined : AbortSignal.timeout(limitMs)].filter((one) => one !== undefined)
    const search = new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined))
    return fetch(`${url}/admin/v1${path}${search.size > 0 ? `?${search}` : ''}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      redirect: 'manual',
      signal: AbortSignal.any(signals),
      ...(form ? { body: form } : body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async function open(method: string, path: string, given: Call): Promise<Response> {
    for (let waits = 0; ; waits++) {
      const response = await send(method, path, given)
      const seconds = secondsToWait(response)
      if (seconds === undefined || waits === maxWaits) return response
      await response.body?.cancel()
      await delay(seconds * 1000, undefined, given.signal ? { signal: given.signal } : {})
    }
  }

  async function call(method: string, path: string, given: Call = {}): Promise<Fields> {
    let response: Response
    let text: string
    try {
      response = await open(method, path, { timeoutMs: given.form ? uploadMs : timeoutMs, ...given })
      text = await response.text()
    } catch (error) {
      throw new CommandFailed(
        2,
        `cannot reach ${url}: ${causeOf(error)}. Check that the server is running and that this is its address (--url).`,
      )
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

  async function* download(path: string, accept: string, query: Query = {}): AsyncGenerator<Uint8Array> {
    const stalled = new AbortController()
    const timer = setTimeout(() => stalled.abort(new Error(`no data for ${stalledMs / 1000} seconds`)), stalledMs)
    try {
      const response = await open('GET', path, { query, headers: { accept }, signal: stalled.signal })
      if (!response.ok) throw new CommandFailed(...refusal(response, parseFields(await response.text()), url))
      if (!response.headers.get('content-type')?.startsWith(accept))
        throw new CommandFailed(
          2,
          `unexpected response: it is not ${accept}. Check that the URL is that of a Turnkeep server of this version.`,
        )
      for await (const part of response.body!) {
        timer.refresh()
        yield part
      }
    } catch (error) {
      if (error instanceof CommandFailed) throw error
      throw new CommandFailed(2, `the response of ${url} is incomplete: ${causeOf(error)}. Run the command again.`)
    } finally {
      clearTimeout(timer)
    }
  }

  return { url, open, call, pages, download }
}

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns undefined if the text is not a JSON object. */
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
  throw new CommandFailed(
    2,
    'unexpected response: it is not a page of a list. Check that the URL is that of a Turnkeep server of this version.',
  )
}

/**
 * Returns how long to wait before the request is sent again, undefined if it must not be. A 429 without the headers of a rate limit is about a
 * wrong token (`admin.guesses`).
 */
function secondsToWait({ status, headers }: Response): number | undefined {
  if (status !== 429 || !headers.has('x-ratelimit-limit')) return undefined
  const seconds = Number(headers.get('retry-after') ?? 1)
  return seconds >= 0 && seconds <= maxWaitSeconds ? seconds : undefined
}

/** Returns the exit code and the message for an error response. Without an error envelope, another program sent the response. */
function refusal(response: Response, answered: Fields | undefined, url: string): [1 | 2, string] {
  const error = answered?.['error']
  if (isFields(error) && typeof error['code'] === 'string') {
    const hint =
      error['code'] === 'unauthorized'
        ? `\nThe admin token does not belong to the server at ${url}, or it has changed. Check TURNKEEP_ADMIN_TOKEN and --url.`
        : ''
    return [1, `${String(error['message'])} (${error['code']}, ${response.status}, request ${String(error['request_id'])})${hint}`]
  }
  const location = response.headers.get('location')
  const redirect = location === null ? '' : ` with a redirect to ${location}. Give the address of the server with --url.`
  return [2, `not a Turnkeep server: ${url} answered ${response.status}${redirect || '. Check the address (--url).'}`]
}
