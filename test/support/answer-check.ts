/**
 * Compares a response of the service with its API description: status, content type, headers, and the body, in which undocumented fields
 * are errors, too. answer-check-fetch.ts and the callers in test/support provide the responses.
 */
import { failures } from '../../src/errors.ts'
import { compileClosed } from './answer-check-schema.ts'
import type { SchemaCheck } from './answer-check-schema.ts'
import { dereferenced } from './dereferenced.ts'

type Json = Record<string, any>
export type Descriptions = { public: Json; admin: Json }
/** `text`: undefined if the body was not read. `path` may have a query. */
export type SeenAnswer = { method: string; path: string; status: number; headers: Headers; text?: string | undefined }
export type SeenEvent = { event: string; data: unknown }

type Operation = { name: string; method: string; path: RegExp; responses: Json; document: Json }

const codes: Record<string, { status: number; message: string; retryAfterSeconds?: number }> = failures
// What the HTTP parser refuses.
const badRequestStatuses = [400, 408, 417, 431]
// Headers that may only be on responses whose description has them.
const meant = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After', 'Set-Cookie', 'WWW-Authenticate']
const methods = ['get', 'put', 'post', 'delete', 'patch']

// Each is compiled once, by its identity.
const chatEvent = { $ref: '#/components/schemas/ChatEvent' }
const previewEvent = { $ref: '#/components/schemas/PreviewEvent' }

export class AnswerCheck {
  readonly #operations: Operation[]
  readonly #descriptions: Descriptions
  readonly #checks = new Map<object, SchemaCheck>()
  /** The number of responses by operation and status, `POST /v1/agents/{agent_id}/chat 200`. */
  readonly counts: Record<string, number> = {}

  constructor(descriptions: Descriptions) {
    this.#descriptions = { public: dereferenced(descriptions.public), admin: dereferenced(descriptions.admin) }
    this.#operations = Object.values(this.#descriptions).flatMap(operationsOf)
  }

  /** What is wrong in words; empty if the response matches its description. */
  problems(answer: SeenAnswer): string[] {
    const path = answer.path.split(/[?#]/, 1)[0]!
    const method = answer.method === 'HEAD' ? 'GET' : answer.method
    const operation = this.#operations.find((one) => one.method === method && one.path.test(path))
    const described: Json | undefined = operation?.responses[answer.status]
    if (!operation || (!described && isUnserved(answer))) return path.endsWith('/openapi.json') ? [] : this.#checkUnknown(answer)
    if (!described) return [`the status ${answer.status} is not described`]
    const counted = `${operation.name} ${answer.status}`
    this.counts[counted] = (this.counts[counted] ?? 0) + 1
    const body = this.#checkBody(answer, described, operation.document)
    return [...body.problems, ...this.#checkHeaders(answer, described, body.code), ...checkRequestId(answer, body.requestId)]
  }

  /** The events of a whole stream, of a turn or of a preview, in order. Only the stream of a turn begins with `response.created`. */
  eventProblems(events: SeenEvent[]): string[] {
    const ofTurn = events[0]?.event === 'response.created'
    const check = ofTurn ? this.#compile(chatEvent, this.#descriptions.public) : this.#compile(previewEvent, this.#descriptions.admin)
    const names = events.map(({ event }) => event).join(' ')
    const order = ofTurn
      ? /^response\.created( response\.output_text\.delta)*( response\.output_text\.reset( response\.output_text\.delta)*)? (response\.completed|error)$/.test(
          names,
        )
      : /^(response\.output_text\.delta )*(response\.output_text\.reset (response\.output_text\.delta )*)?(preview\.completed|error)$/.test(
          names,
        )
    return [...(order ? [] : [`the order of the events: ${names.slice(0, 200)}`]), ...events.flatMap((event) => check(event))]
  }

  #compile(schema: Json, document: Json, key: object = schema): SchemaCheck {
    const known = this.#checks.get(key)
    if (known) return known
    const check = compileClosed(schema, document)
    this.#checks.set(key, check)
    return check
  }

  /** A path or method that no description has must get the error envelope. */
  #checkUnknown(answer: SeenAnswer): string[] {
    if (answer.status < 400) return [`${answer.status}, and no such operation is described`]
    if (answer.method === 'HEAD' || answer.text === undefined) return checkRequestId(answer)
    const { code, message, requestId, problems } = readEnvelope(answer.text)
    if (code !== undefined && typeof message !== 'string') problems.push('the envelope has no message')
    if (answer.status === 405 && !answer.headers.has('allow')) problems.push('405 without Allow')
    return [...problems, ...checkStatus(answer.status, code), ...checkRequestId(answer, requestId)]
  }

  #checkBody(answer: SeenAnswer, described: Json, document: Json): { problems: string[]; code?: string; requestId?: unknown } {
    const { headers, method, text, status } = answer
    const type = headers.get('content-type')?.split(';', 1)[0]
    if (type === undefined || !described['content']?.[type]) {
      const isEmpty = type === undefined && !described['content'] && !text
      return { problems: isEmpty ? [] : [`the content type ${type} is not described`] }
    }
    if (method === 'HEAD' || text === undefined || type !== 'application/json') return { problems: [] }
    const { schema } = described['content'][type]
    let value: any
    try {
      value = JSON.parse(text)
    } catch {
      return { problems: [`no JSON: ${text.slice(0, 200)}`] }
    }
    const problems = this.#compile(schema, document)(value)
    if (status < 400) return { problems, requestId: isChatResponse(value) ? value.request_id : undefined }
    const code = value?.error?.code
    return { problems: [...problems, ...checkStatus(status, code)], code, requestId: value?.error?.request_id }
  }

  #checkHeaders({ headers, status, method, text }: SeenAnswer, described: Json, code: string | undefined): string[] {
    const problems: string[] = []
    for (const name of meant) {
      const value = headers.get(name)
      const schema: Json | undefined = described['headers']?.[name]?.schema
      const isRead = status < 400 || (method !== 'HEAD' && text !== undefined)
      const isOptional = described['headers']?.[name]?.description?.includes('Absent') === true
      const wanted = name === 'Retry-After' ? isRead && returns(code) : schema !== undefined
      // Not of a limit whose window never ends.
      if (value === null && wanted && !isOptional && code !== 'spend_limit_exceeded') problems.push(`${name} is missing`)
      if (value !== null && (!schema || (isRead && !wanted))) problems.push(`${name} is not described here`)
      if (value !== null && schema)
        problems.push(
          ...this.#compile(
            schema,
            {},
          )(schema['type'] === 'integer' ? Number(value) : value)
            .slice(0, 1)
            .map((problem) => `${name}${problem}`),
        )
      if (name === 'Retry-After' && value !== null && code !== undefined && !isRightPause(code, Number(value)))
        problems.push(`Retry-After of ${code} is ${value}`)
    }
    return problems
  }
}

/** A turn has its own ID in the body, and the response has that of the request that reads it. */
const isChatResponse = (value: any): boolean => Boolean(value?.message && value.usage && value.status === undefined)

function operationsOf(document: Json): Operation[] {
  return Object.entries<Json>(document['paths']).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]*')}$`),
        responses: item[method].responses,
        document,
      })),
  )
}

/** `POST /v1/agents/{agent_id}/chat`, of both descriptions. */
export const operationNames = ({ public: api, admin }: Descriptions): string[] => [api, admin].flatMap(operationsOf).map(({ name }) => name)

/** The HTTP layer of the other API, where its paths are unknown. No route responds with this message to one of its own paths. */
const isUnserved = ({ status, text }: SeenAnswer): boolean =>
  status === 404 && text !== undefined && text.includes(failures.not_found.message)

const returns = (code = ''): boolean =>
  code === 'rate_limit_exceeded' || code === 'spend_limit_exceeded' || codes[code]?.retryAfterSeconds !== undefined
const isRightPause = (code: string, seconds: number): boolean => seconds >= 1 && seconds === (codes[code]?.retryAfterSeconds ?? seconds)

function checkStatus(status: number, code: string | undefined): string[] {
  const statuses = code === 'bad_request' ? badRequestStatuses : [codes[code ?? '']?.status]
  return statuses.includes(status) ? [] : [`${code} with the status ${status}`]
}

/** `order.request-id`: every response has a UUID, which is also in the body if it has one. */
function checkRequestId({ headers }: SeenAnswer, inBody?: unknown): string[] {
  const id = headers.get('x-request-id')
  if (!id || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return [`X-Request-ID is ${id}`]
  return inBody === undefined || inBody === id ? [] : [`X-Request-ID is ${id}, and request_id ${String(inBody)}`]
}

function readEnvelope(text: string): { code?: string; message?: unknown; requestId?: unknown; problems: string[] } {
  try {
    const value = JSON.parse(text)
    const { code, message, request_id: requestId } = value.error
    const names = [...Object.keys(value), ...Object.keys(value.error)].toSorted().join(' ')
    return {
      code,
      message,
      requestId,
      problems: names === 'code error message request_id' ? [] : [`not the envelope: ${text.slice(0, 200)}`],
    }
  } catch {
    return { problems: [`not the envelope: ${text.slice(0, 200)}`] }
  }
}
