/**
 * Compares the declared tools of an agent with the stored ones, field by field. The server never returns the values of headers and secrets,
 * so they cannot be compared. The stored value is kept (null), unless it is new, the tool moves to another server, or --secrets sends all
 * values.
 */
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import type { Environment } from '../../config/config.ts'
import type { OwnSecret } from '../../config/own-secrets.ts'
import { writeUsd } from './item.ts'
import type { Differences } from './item.ts'
import type { Place, Problems } from './problems.ts'
import type { GivenTool, Hidden } from './shapes.ts'

/**
 * `again` is true with --secrets: every value is sent, even if one is stored. `own` are the secrets of the service itself, which are never
 * sent. `variablesRead` collects what is read from the environment, and what for.
 */
export type Secrets = {
  environment: Environment
  again: boolean
  problems: Problems
  own: OwnSecret[]
  variablesRead: VariableRead[]
}
/** `use` completes "for". */
export type VariableRead = { name: string; use: string }
export type ComparedTools = { fields: Differences; tools: Fields[]; uncompared: number }

/** `fields` is empty if nothing differs and nothing needs to be sent. The order of the tools is not compared. */
export function compareTools(wanted: GivenTool[], present: Fields[], secrets: Secrets): ComparedTools {
  const fields: Differences = {}
  let uncompared = 0
  const tools = wanted.map((tool) => {
    const stored = present.find(({ type, name }) => type === tool.type && name === tool.name)
    const shown = withDefaults(tool)
    if (!stored) fields[`tools.${tool.name}`] = { from: null, to: summary(shown) }
    else
      for (const [name, to] of Object.entries(shown))
        if (!isDeepStrictEqual(to, stored[name])) fields[`tools.${tool.name}.${name}`] = { from: namesOf(stored[name]), to: namesOf(to) }
    if (tool.type === 'builtin') return shown

    const keeps = stored !== undefined && originOf(stored['url']) === originOf(tool.url)
    const fill = (kind: 'headers' | 'secrets', texts: Record<string, Hidden> = {}): Record<string, string | null> => {
      const current = keeps && isFields(stored[kind]) ? stored[kind] : {}
      return Object.fromEntries(
        Object.entries(texts).map(([name, hidden]) => {
          const isStored = Object.hasOwn(current, name)
          if (hidden === null) return [name, null]
          if (isStored && !secrets.again) {
            uncompared++
            return [name, null]
          }
          if (isStored) fields[`tools.${tool.name}.${kind}.${name}`] = { from: 'stored', to: `sent again, from ${sourceOf(hidden)}` }
          const use = `the ${kind === 'headers' ? 'header' : 'secret'} ${name} of the tool ${tool.name}, which is sent to ${originOf(tool.url) ?? tool.url}`
          return [name, valueOf(hidden, { place: tool.placeOf(kind), use }, secrets) ?? null]
        }),
      )
    }
    const headers = fill('headers', tool.headers)
    return { ...shown, headers, ...(tool.type === 'http' ? { secrets: fill('secrets', tool.secrets) } : {}) }
  })
  for (const stored of present)
    if (!wanted.some(({ type, name }) => type === stored['type'] && name === stored['name']))
      fields[`tools.${String(stored['name'])}`] = { from: summary(stored), to: null }
  return { fields, tools, uncompared }
}

/** Returns the tool as the server shows it: with default values, and with names of headers and secrets but not their values. */
function withDefaults(tool: GivenTool): Fields {
  const price = { price_usd: writeUsd(tool.price_usd ?? '0') }
  switch (tool.type) {
    case 'http': {
      const { type, name, description, parameters, method, url, headers = {}, secrets = {} } = tool
      const { timeout_seconds: timeout = 10, side_effects: sideEffects = true } = tool
      const texts = { headers: withoutValues(headers), secrets: withoutValues(secrets) }
      return { type, name, description, parameters, method, url, ...texts, timeout_seconds: timeout, side_effects: sideEffects, ...price }
    }
    case 'mcp': {
      const { type, name, url, headers = {}, allowed = null } = tool
      return { type, name, url, headers: withoutValues(headers), allowed, ...price }
    }
    case 'builtin': {
      const { type, name } = tool
      return { type, name, ...price }
    }
  }
}

const withoutValues = (texts: Record<string, unknown>): Record<string, null> =>
  Object.fromEntries(Object.keys(texts).map((name) => [name, null]))

/** Shows headers and secrets by their names only. */
const namesOf = (value: unknown): unknown =>
  isFields(value) && Object.values(value).every((one) => one === null) ? Object.keys(value).join(', ') || null : (value ?? null)

const summary = (tool: Fields): string => [tool['type'], tool['method'], tool['url']].filter((part) => part !== undefined).join(' ')

const originOf = (url: unknown): string | undefined => URL.parse(String(url))?.origin
const sourceOf = (hidden: NonNullable<Hidden>): string => ('env' in hidden ? `$${hidden.env}` : 'the file')

function valueOf(hidden: NonNullable<Hidden>, reading: { place: Place; use: string }, secrets: Secrets): string | undefined {
  return 'env' in hidden ? readVariable(hidden.env, reading, secrets) : hidden.literal
}

/** Adds a problem if the environment variable is not set, or has the value of a secret of the service itself. */
export function readVariable(variable: string, { place, use }: { place: Place; use: string }, secrets: Secrets): string | undefined {
  const { environment, problems, own, variablesRead } = secrets
  const value = environment[variable]
  if (!value) return problems.add(place, `the environment variable ${variable} is not set`)
  const same = own.find((secret) => value.includes(secret.value))
  if (same) return problems.add(place, `${variable} contains ${same.name}, a secret of Turnkeep itself: use another value`)
  variablesRead.push({ name: variable, use })
  return value
}
