/**
 * Makes one call of an HTTP tool (`tools.arguments`). The operator's configuration decides the address and the credentials; the model's
 * arguments fill placeholders in the address, the query or the body, and nothing else. An argument cannot change any other part of the
 * request, and an argument that the tool does not declare is an error.
 */
import { rawDigits } from '../exact-json.ts'
import { GuardFailed, GuardRefused } from '../guard/guard.ts'
import type { Guard } from '../guard/guard.ts'
import { answerText } from './answer-text.ts'
import { encodeComponent, fillAddress, fillText, placeholdersIn, queryNames, UnfitValue } from './placeholders.ts'
import { credentialsIn, withoutSecrets } from './redact.ts'
import type { OpenHttpTool } from './tool-config.ts'

export type HttpToolCall = {
  tool: OpenHttpTool
  /** Already checked against the tool's schema. */
  args: Record<string, unknown>
  idempotencyKey: string
  traceparent?: string | null
  signal: AbortSignal
}

/** `answered`: as in `ToolResult`. `failure`: why the tool gave no answer, for the log. */
export type HttpToolAnswer = { text: string; isError: boolean; answered: boolean; failure?: string }

// Of the decoded body (`fault.tool-hostile`).
const maxBytes = 1_048_576
const maxRedirects = 3

/** Calls the tool and returns its answer or an error for the model. Rejects with `signal.reason`, or with an internal error. */
export async function callHttpTool(
  { tool, args, idempotencyKey, traceparent, signal }: HttpToolCall,
  guard: Guard,
): Promise<HttpToolAnswer> {
  const secrets = secretTexts(tool)
  const request = prepare(tool, args)
  if (typeof request === 'string') return { text: `Error: ${request}.`, isError: true, answered: false }
  try {
    const { url, body, headers } = request
    const answer = await guard.fetch(url, {
      method: tool.method,
      // `trace.context`: the guard decides whether anything is sent, and drops the header for another origin.
      // mutant: trace.context
      headers: { ...headers, 'idempotency-key': idempotencyKey, ...(traceparent ? { traceparent } : {}) },
      ...(body === undefined ? {} : { body }),
      signal,
      timeoutMs: tool.timeoutSeconds * 1000,
      maxBytes,
      redirects: maxRedirects,
    })
    const { text, isError } = answerText({ ...answer, contentType: answer.headers.get('content-type') }, secrets)
    return { text, isError, answered: true }
  } catch (error) {
    if (!(error instanceof GuardRefused || error instanceof GuardFailed)) throw error
    const unknown = tool.sideEffects && error.sent ? ' Whether it took effect is not known.' : ''
    const failure = withoutSecrets(error.message, secrets)
    return { text: `Error: the tool call failed: ${failure}.${unknown}`, isError: true, answered: false, failure }
  }
}

type Prepared = { url: string; headers: Record<string, string>; body: string | undefined }

/** Returns the request to send, or a sentence that says what is wrong with the arguments. */
function prepare(tool: OpenHttpTool, args: Record<string, unknown>): Prepared | string {
  const { secrets, method } = tool
  const inAddress = placeholdersIn(tool.url)
  const fixed = queryNames(tool.url).map((name) => name.toLowerCase())
  const isTaken = (name: string): boolean => !inAddress.includes(name) && fixed.includes(name.toLowerCase())
  const undeclared = Object.keys(args).find((name) => !isDeclared(tool, name) || Object.hasOwn(secrets, name) || isTaken(name))
  if (undeclared !== undefined) return `the tool has no parameter ${JSON.stringify(undeclared.slice(0, 64))}`
  const missing = inAddress.find((name) => !Object.hasOwn(secrets, name) && scalarText(args[name]) === undefined)
  if (missing !== undefined) return `${missing} must be given, as a string, a number or a boolean`

  const secretOf = (name: string): string => secrets[name] ?? ''
  const rest = Object.entries(args).filter(([name]) => !inAddress.includes(name))
  const inQuery = method === 'GET' || method === 'DELETE'
  const headers = Object.fromEntries(Object.entries(tool.headers).map(([name, value]) => [name.toLowerCase(), fillText(value, secretOf)]))
  try {
    const url = fillAddress(tool.url, (name) => (Object.hasOwn(secrets, name) ? secretOf(name) : (scalarText(args[name]) ?? '')))
    return {
      url: inQuery ? withQuery(url, rest) : url,
      headers: {
        accept: 'application/json, text/*;q=0.9, */*;q=0.5',
        ...(inQuery ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: inQuery ? undefined : JSON.stringify(Object.fromEntries(rest)),
    }
  } catch (error) {
    if (error instanceof UnfitValue) return error.message
    throw error
  }
}

/** Whether the schema names the argument, or explicitly allows additional ones. */
function isDeclared({ parameters }: OpenHttpTool, name: string): boolean {
  const { properties, additionalProperties, patternProperties } = parameters
  if (typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name)) return true
  return (additionalProperties !== undefined && additionalProperties !== false) || patternProperties !== undefined
}

/** Returns the text of a string, a boolean or a number of any length; undefined for any other value. */
const scalarText = (value: unknown): string | undefined =>
  ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : rawDigits(value)

/** Adds arguments to the query: an array repeats its parameter, and objects and nested arrays are written as JSON. */
function withQuery(url: string, args: [string, unknown][]): string {
  const pairs = args.flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter((one) => one !== null).map((one) => [name, one] as const),
  )
  if (pairs.length === 0) return url
  const query = pairs.map(([name, one]) => `${encodeComponent(name)}=${encodeComponent(scalarText(one) ?? JSON.stringify(one))}`)
  return `${url}${url.includes('?') ? '&' : '?'}${query.join('&')}`
}

// Headers that carry no credentials.
const plainHeaders = ['accept', 'accept-language', 'content-type', 'user-agent']

// Header values shorter than this are usually options (`true`, `acme`) that also occur in ordinary answers, so redacting them would damage
// the answer. Values of `{secret}` placeholders are always redacted.
const minCredential = 12

/**
 * Returns the texts to remove from the answer: the secrets, and each other header value both whole and in parts (`credentialsIn`).
 */
function secretTexts({ headers, secrets }: OpenHttpTool): string[] {
  const values = Object.entries(headers)
    .filter(([name]) => !plainHeaders.includes(name.toLowerCase()))
    .map(([, value]) => fillText(value, (name) => secrets[name] ?? ''))
  const whole = values.filter((value) => value.length >= minCredential)
  return [...Object.values(secrets), ...whole, ...values.flatMap((value) => credentialsIn(value, minCredential))]
}
