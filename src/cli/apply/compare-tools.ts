/**
 * The tools of an agent against those that are stored, field by field. Values of headers and secrets are never told by the server, so they cannot
 * be compared: what is stored stays (null), unless it is new, leads to another server, or everything is to be given again.
 */
import { isDeepStrictEqual } from 'node:util'
import { isFields } from '../admin-api/client.ts'
import type { Fields } from '../admin-api/client.ts'
import type { Environment } from '../../config/config.ts'
import type { Differences } from './item.ts'
import type { Place, Problems } from './problems.ts'
import type { GivenTool, Hidden } from './shapes.ts'

/** `again`: every value is sent, stored or not. */
export type Secrets = { environment: Environment; again: boolean; problems: Problems }
export type ComparedTools = { fields: Differences; tools: Fields[]; uncompared: number }

/** `fields` is empty where nothing differs; then nothing needs to be sent. The order of the tools is not compared. */
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
      const former = keeps && isFields(stored[kind]) ? stored[kind] : {}
      return Object.fromEntries(
        Object.entries(texts).map(([name, hidden]) => {
          const isStored = Object.hasOwn(former, name)
          if (hidden === null) return [name, null]
          if (isStored && !secrets.again) {
            uncompared++
            return [name, null]
          }
          if (isStored) fields[`tools.${tool.name}.${kind}.${name}`] = { from: 'stored', to: `given again, from ${sourceOf(hidden)}` }
          return [name, valueOf(hidden, tool.placeOf(kind), secrets) ?? null]
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

/** As the server shows it: with what it would take where nothing is said, and names without values. */
function withDefaults(tool: GivenTool): Fields {
  switch (tool.type) {
    case 'http': {
      const { type, name, description, parameters, method, url, headers = {}, secrets = {} } = tool
      const { timeout_seconds: timeout = 10, side_effects: sideEffects = true } = tool
      const texts = { headers: withoutValues(headers), secrets: withoutValues(secrets) }
      return { type, name, description, parameters, method, url, ...texts, timeout_seconds: timeout, side_effects: sideEffects }
    }
    case 'mcp': {
      const { type, name, url, headers = {}, allowed = null } = tool
      return { type, name, url, headers: withoutValues(headers), allowed }
    }
    case 'builtin': {
      const { type, name } = tool
      return { type, name }
    }
  }
}

const withoutValues = (texts: Record<string, unknown>): Record<string, null> =>
  Object.fromEntries(Object.keys(texts).map((name) => [name, null]))

/** Of headers and secrets their names, for a person. */
const namesOf = (value: unknown): unknown =>
  isFields(value) && Object.values(value).every((one) => one === null) ? Object.keys(value).join(', ') || null : (value ?? null)

const summary = (tool: Fields): string => [tool['type'], tool['method'], tool['url']].filter((part) => part !== undefined).join(' ')

const originOf = (url: unknown): string | undefined => URL.parse(String(url))?.origin
const sourceOf = (hidden: NonNullable<Hidden>): string => ('env' in hidden ? `$${hidden.env}` : 'the file')

function valueOf(hidden: NonNullable<Hidden>, place: Place, { environment, problems }: Secrets): string | undefined {
  return 'env' in hidden ? readVariable(hidden.env, place, { environment, problems }) : hidden.literal
}

/** Tells a problem where the environment has no such variable. */
export function readVariable(
  variable: string,
  place: Place,
  { environment, problems }: Pick<Secrets, 'environment' | 'problems'>,
): string | undefined {
  return environment[variable] || problems.add(place, `the environment variable ${variable} is not set`)
}
