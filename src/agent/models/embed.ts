/**
 * Requests embedding vectors with one POST, in OpenAI's or Google's format, over the connections that all models share. Sets the deadline
 * of the call and validates the answer. It does not retry, and does not shorten the texts.
 */
import type { Dispatcher, Response } from 'undici'
import { ModelError } from './model.ts'
import { parseBaseUrl } from './transport/base-url.ts'
import { CollectedBytes } from './transport/collected-bytes.ts'
import { isObject } from './transport/fields.ts'
import { HttpRefusal } from './transport/http-refusal.ts'
import { operatorText } from './transport/operator-text.ts'

/** The largest vectors that any provider offers. Larger ones would make every search slower. */
const maxDimensions = 4096
/** Bytes of one number in JSON, with its comma. */
const maxNumber = 32
// Bytes, for what is beside the numbers.
const besideVectors = 64 * 1024

export type EmbedOptions = {
  dispatcher: Dispatcher
  api: 'openai' | 'google'
  baseUrl: string
  apiKey: string
  /** Deadline for the whole answer, in milliseconds. */
  deadlineMs: number
}

/** Returns one vector of unit length per text, in the order of the texts. The caller checks that all vectors have the same length. */
export type Embed = (modelId: string, texts: string[], signal: AbortSignal) => Promise<Float32Array[]>

/**
 * Opens a provider for embeddings. Throws ModelError `refused` if the base URL is invalid. A call rejects with `signal.reason` or with
 * ModelError, which is also `refused` for an invalid answer, since a retry would get the same one.
 */
export function openEmbed({ dispatcher, api, baseUrl, apiKey, deadlineMs }: EmbedOptions): Embed {
  const base = parseBaseUrl(baseUrl)
  const { address, headers, write, read } = embeddingApis[api]

  return async (modelId, texts, signal) => {
    const url = new URL(base)
    url.pathname = base.pathname.replace(/\/+$/, '') + address(modelId)
    // Loaded on first use: most processes never request embeddings or a list of models.
    const { fetch } = await import('undici')
    const deadline = AbortSignal.timeout(deadlineMs)
    let response: Response
    let body: string
    try {
      response = await fetch(url, {
        dispatcher,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'turnkeep', ...(apiKey === '' ? {} : headers(apiKey)) },
        body: JSON.stringify(write(modelId, texts)),
        redirect: 'manual',
        signal: AbortSignal.any([signal, deadline]),
      })
      body = await readText(response, besideVectors + texts.length * maxDimensions * maxNumber)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ModelError) throw error
      if (deadline.aborted) throw new ModelError('unavailable', 'provider_timeout', `the provider made no vectors within ${deadlineMs} ms`)
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
      const said = operatorText(cause, apiKey)
      throw new ModelError('unavailable', 'provider_unreachable', 'the provider cannot be asked for vectors', { said, cause: error })
    }
    if (response.status !== 200) {
      const refusal = new HttpRefusal(response.status, Object.fromEntries(response.headers), apiKey)
      refusal.take(Buffer.from(body))
      throw refusal.error()
    }
    return soundVectors(read(parse(body), texts.length), texts.length)
  }
}

type EmbeddingApi = {
  address(modelId: string): string
  headers(apiKey: string): Record<string, string>
  write(modelId: string, texts: string[]): object
  /** Returns one value per text if the answer has the expected shape: numbers, or a base64 string with their bytes. */
  read(body: unknown, count: number): unknown
}

const embeddingApis: Record<EmbedOptions['api'], EmbeddingApi> = {
  openai: {
    address: () => '/embeddings',
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    write: (modelId, texts) => ({ model: modelId, input: texts }),
    read(body, count) {
      const data = isObject(body) ? body.data : undefined
      if (!Array.isArray(data) || data.length !== count) return undefined
      const inOrder: unknown[] = Array.from({ length: count })
      // Ordered by `index`; a server that sends no index answers in the order of the texts.
      for (const [n, item] of data.entries()) if (isObject(item)) inOrder[typeof item.index === 'number' ? item.index : n] = item.embedding
      return inOrder
    },
  },
  google: {
    address: (modelId) => `/models/${encodeURIComponent(modelId)}:batchEmbedContents`,
    headers: (apiKey) => ({ 'x-goog-api-key': apiKey }),
    write: (modelId, texts) => ({ requests: texts.map((text) => ({ model: `models/${modelId}`, content: { parts: [{ text }] } })) }),
    read: (body) =>
      isObject(body) && Array.isArray(body.embeddings)
        ? body.embeddings.map((one: unknown) => (isObject(one) ? one.values : undefined))
        : undefined,
  },
}

function soundVectors(read: unknown, count: number): Float32Array[] {
  if (!Array.isArray(read) || read.length !== count) throw notSound(`not one vector for each of ${count} texts`)
  return read.map((one: unknown) => toUnitLength(readNumbers(one)))
}

function readNumbers(value: unknown): number[] {
  const numbers = typeof value === 'string' ? fromBase64(value) : value
  if (!Array.isArray(numbers) || numbers.length === 0) throw notSound('an invalid vector')
  if (numbers.length > maxDimensions) throw tooManyNumbers()
  if (!numbers.every((number: unknown) => typeof number === 'number' && Number.isFinite(number)))
    throw notSound('a vector with an invalid number')
  return numbers
}

/** Reads little-endian Float32, which is how OpenAI encodes vectors in base64. */
function fromBase64(text: string): number[] | undefined {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length > maxDimensions * 4) throw tooManyNumbers()
  if (bytes.length % 4 !== 0) return undefined
  return Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatLE(n * 4))
}

/**
 * Normalizes, so that the dot product of two vectors is their cosine. Scales by the largest number first, because its square could
 * overflow.
 */
function toUnitLength(numbers: number[]): Float32Array {
  const largest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0)
  if (largest === 0) throw notSound('a vector without direction')
  const scaled = numbers.map((number) => number / largest)
  const length = Math.sqrt(scaled.reduce((sum, number) => sum + number * number, 0))
  return Float32Array.from(scaled, (number) => number / length)
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const body = new CollectedBytes()
  for await (const piece of response.body ?? []) {
    if (body.length + piece.length > maxBytes) throw notSound('too much')
    body.push(piece)
  }
  return body.text()
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw notSound('invalid JSON')
  }
}

const tooManyNumbers = (): ModelError => notSound(`a vector of more than ${maxDimensions} numbers`)
const notSound = (what: string): ModelError =>
  new ModelError('refused', 'invalid_answer', `the provider was asked for vectors and answered with ${what}`)
