/**
 * An agent's tools on the wire. Values of headers and secrets come in here and go out nowhere: where one is stored, its name is answered with
 * null, and null sent back keeps it. Bounds of the shape alone; what a tool may be is the admin room's to say. Surfaces: a tool.
 */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import { wellFormed } from '../fields.ts'
import { Type } from '../../edge/schema.ts'

type Given = NonNullable<Parameters<AdminCalls['createAgent']>[0]['tools']>[number]
type Shown = Awaited<ReturnType<AdminCalls['findAgent']>>['tools'][number]
type Difference = Awaited<ReturnType<AdminCalls['refreshTools']>>['differences'][number]
type Pinned = Extract<Shown, { type: 'mcp' }>['pinned'][number]

const closed = { additionalProperties: false } as const

// Of which letters names are made is the admin room's to say, which does so in words: a pattern is refused without any.
const ToolName = Type.String({ ...wellFormed({ minLength: 1, maxLength: 64 }), description: 'Letters, digits, _ and -.' })
const Url = wellFormed({ minLength: 1, maxLength: 2000 })
const Value = Type.Union([wellFormed({ minLength: 1, maxLength: 4096 }), Type.Null()], { description: 'null keeps the stored value.' })
// A record of any string leaves out the names with a line break, whose values nobody would have looked at.
const Texts = Type.Record(Type.String({ pattern: '^[\\s\\S]{0,100}$' }), Value, { ...closed, maxProperties: 20 })
const Headers = Type.Unsafe<Static<typeof Texts>>({ ...Texts, description: 'By the name of a header.' })
const Secrets = Type.Unsafe<Static<typeof Texts>>({ ...Texts, description: 'By the name that {name} says: letters, digits, _ and -.' })

const Http = Type.Object(
  {
    type: Type.Literal('http'),
    name: ToolName,
    description: wellFormed({ minLength: 1, maxLength: 8000 }),
    parameters: Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of the arguments, an object.' }),
    method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    url: Type.String({ ...Url, description: '{name} is an argument of the model or a secret, percent-encoded as one component.' }),
    headers: Type.Optional(Headers),
    secrets: Type.Optional(Secrets),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 60 })),
    side_effects: Type.Optional(Type.Boolean({ description: 'Absent: true. A call that may change something is never made twice.' })),
  },
  closed,
)
const Mcp = Type.Object(
  {
    type: Type.Literal('mcp'),
    name: ToolName,
    url: Url,
    headers: Type.Optional(Headers),
    allowed: Type.Optional(Type.Union([Type.Array(wellFormed({ minLength: 1, maxLength: 200 }), { maxItems: 200 }), Type.Null()])),
  },
  closed,
)
const BuiltIn = Type.Object({ type: Type.Literal('builtin'), name: Type.Enum(['now', 'search_knowledge']) }, closed)

type GivenTool = Static<typeof Http> | Static<typeof Mcp> | Static<typeof BuiltIn>
// By its type, so that what is wrong is said of the one that was meant.
const Tool = Type.Unsafe<GivenTool>({
  type: 'object',
  required: ['type'],
  // Before the discriminator, which does not say what there is.
  properties: { type: { enum: ['http', 'mcp', 'builtin'] } },
  discriminator: { propertyName: 'type' },
  oneOf: [Http, Mcp, BuiltIn],
})

/** 32 entries: more is more than a model chooses well from. */
export const Tools = Type.Array(Tool, { maxItems: 32 })

// For every call of a tool: `fault.tool-hostile`.
const defaultTimeoutSeconds = 10

/** In an order of our own, so that the same said in another order is the same. */
export function readTool(tool: GivenTool): Given {
  switch (tool.type) {
    case 'http': {
      const { type, name, description, parameters, method, url, headers = {}, secrets = {} } = tool
      const { timeout_seconds: timeoutSeconds = defaultTimeoutSeconds, side_effects: sideEffects = true } = tool
      return { type, name, description, parameters, method, url, headers, secrets, timeoutSeconds, sideEffects }
    }
    case 'mcp': {
      const { type, name, url, headers = {}, allowed = null } = tool
      return { type, name, url, headers, allowed }
    }
    case 'builtin':
      return tool
  }
}

export function writeTool(tool: Shown): object {
  switch (tool.type) {
    case 'http': {
      const { timeoutSeconds, sideEffects, headers, secrets, ...rest } = tool
      const texts = { headers: withoutValues(headers), secrets: withoutValues(secrets) }
      return { ...rest, ...texts, timeout_seconds: timeoutSeconds, side_effects: sideEffects }
    }
    case 'mcp':
      return {
        ...tool,
        headers: withoutValues(tool.headers),
        pinned: tool.pinned.map(({ parameters: _, ...pinned }) => writePinned(pinned)),
      }
    case 'builtin':
      return tool
  }
}

export const writeDifference = ({ server, tool, change, ...sides }: Difference): object => ({
  server,
  tool,
  change,
  ...('before' in sides ? { before: writePinned(sides.before) } : {}),
  ...('now' in sides ? { now: writePinned(sides.now) } : {}),
})

const withoutValues = (names: string[]): Record<string, null> => Object.fromEntries(names.map((name) => [name, null]))

const writePinned = ({ sideEffects, ...rest }: Omit<Pinned, 'parameters'> & Partial<Pick<Pinned, 'parameters'>>): object => ({
  ...rest,
  side_effects: sideEffects,
})
