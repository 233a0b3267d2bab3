/**
 * The fault scenarios of clients/scenarios.json as values, checked against clients/scenarios.schema.json when they are read; and the lines
 * that a driver prints, checked against the same file. clients/README.md describes the fields. Runs nothing.
 */
import { readFileSync } from 'node:fs'
import { Validator } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'

export type Scenario = Call & {
  name: string
  says: string
  fixture?: ScenarioFixture
  model?: ModelCall[]
  caller_leaves_after_deltas?: number
  /** Later calls with the same key. */
  again?: (Partial<Call> & Pick<Call, 'expect'>)[]
  stored: Stored
}
export type CallKind = 'chat' | 'stream' | 'background'
export type Call = {
  call: CallKind
  message: string
  /** Times in seconds. */
  client?: { max_retries?: number; max_wait?: number; timeout?: number; cancel_after_deltas?: number }
  faults?: Fault[]
  expect: Expect
}
type Fields = Record<string, unknown>
export type ScenarioFixture = {
  balance_usd?: string
  agent?: Fields
  key?: Fields
  wrong_secret?: true
  other_turn?: number
  same_key_running?: true
}
export type ModelCall = ({ says: Part[]; then?: 'break' } | { status: number }) & { times?: number }
export type Part = string | { until_requests_ended: number } | { kilobytes: number; pieces: number }
export type Moment =
  | 'before'
  | 'running'
  | 'after'
  | { after_bytes: number }
  | { after_deltas: number }
  | { inside_delta: number }
  | { inside_character_of_delta: number }
export type Fault =
  | 'pass'
  | { cut: Moment }
  | { stall: Moment }
  | { kill_server: Moment }
  | { answer: { status: number; headers?: Record<string, string>; body?: string } }
  | { bytes_each: number }
  | { window_used_up: true }
  | { limiter_down: true }
  | { slow_reader: true }
export type Range = { at_least: number; at_most: number }
export type Expect = {
  outcome: 'completed' | 'started' | 'error' | 'left'
  content?: string
  incomplete?: true
  same_reply?: true
  resets?: number
  deltas_sent?: Range
  error?: { kind: string; code?: string; status?: number; retry_after?: Range }
  requests: Range
  waits?: { after_request: number; at_least_seconds: number }[]
}
export type Stored = { turns: number; charges: number; messages: number }

export type Completed = {
  event: 'completed'
  request_id: string
  conversation_id: string
  message: { id: string; role: 'assistant'; content: string; created_at: string; incomplete?: boolean }
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; charged_usd: string }
}
export type Failed = {
  event: 'error'
  kind: string
  code?: string | null
  status?: number | null
  request_id?: string | null
  retry_after?: number | null
  idempotency_key: string
}
export type Line =
  | { event: 'created'; request_id: string; conversation_id: string }
  | { event: 'delta'; delta: string }
  | { event: 'reset' }
  | { event: 'started'; request_id: string; conversation_id: string }
  | Completed
  | Failed

const folder = new URL('../../clients/', import.meta.url)
export const schema = JSON.parse(readFileSync(new URL('scenarios.schema.json', folder), 'utf8')) as Schema

/** Throws if the file does not match the schema, with the positions. */
export function readScenarios(file: string | URL = new URL('scenarios.json', folder)): Scenario[] {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
  const problems = problemsOf(content, schema)
  if (problems.length > 0) throw new Error(`${file} is not as clients/scenarios.schema.json says:\n${problems.join('\n')}`)
  return (content as { scenarios: Scenario[] }).scenarios
}

const lineSchema = { $defs: schema.$defs!, $ref: '#/$defs/line' }

/** Throws if a driver printed anything but a line of the protocol. */
export function readLine(text: string): Line {
  const content: unknown = JSON.parse(text)
  const problems = problemsOf(content, lineSchema)
  if (problems.length > 0) throw new Error(problems.join('; '))
  return content as Line
}

function problemsOf(content: unknown, by: Schema): string[] {
  const { errors } = new Validator(by, '2020-12', false).validate(content)
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)
}
