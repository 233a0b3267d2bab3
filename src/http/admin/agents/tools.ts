/**
 * Reads and writes the tools of an agent. Values of headers and secrets are accepted but never returned: a response has null for each stored
 * value, and sending null keeps it. The schemas here check only shape and size; the admin module validates the tools themselves.
 */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../../admin/admin.ts'
import { define } from '../../public/schemas.ts'
import { invalid } from '../../../errors.ts'
import { formatUsd, maxToolPrice } from '../../../ledger/ledger.ts'
import { Usd, readUsd, wellFormed } from '../fields.ts'
import { Type } from '../../edge/schema.ts'
import type { Tool as ToolAnswer, ToolDifferences } from './agent-answers.ts'

type Given = NonNullable<Parameters<AdminCalls['createAgent']>[0]['tools']>[number]
type Shown = Awaited<ReturnType<AdminCalls['findAgent']>>['tools'][number]
type Difference = Awaited<ReturnType<AdminCalls['refreshTools']>>['differences'][number]
type Pinned = Extract<Shown, { type: 'mcp' }>['pinned'][number]

const closed = { additionalProperties: false } as const

// No pattern here: the admin module checks the characters of a name, and its message says what is wrong.
const ToolName = Type.String({ ...wellFormed({ minLength: 1, maxLength: 64 }), description: 'Letters, digits, _ and -.' })
const Url = wellFormed({ minLength: 1, maxLength: 2000 })
const Value = Type.Union([wellFormed({ minLength: 1, maxLength: 4096 }), Type.Null()], { description: 'null keeps the stored value.' })
// A record of plain strings would skip names that contain a line break, so their values would not be validated.
const Texts = Type.Record(Type.String({ pattern: '^[\\s\\S]{0,100}$' }), Value, { ...closed, maxProperties: 20 })
const Headers = Type.Unsafe<Static<typeof Texts>>({ ...Texts, description: 'Header values by header name.' })
const Secrets = Type.Unsafe<Static<typeof Texts>>({
  ...Texts,
  description: 'Secret values by the name used in {name}: letters, digits, _ and -.',
})

const PriceOfCall = Type.Optional(
  Type.String({
    ...Usd,
    description: 'USD for each call that is made and that the tool answers. Of an MCP server: for each of its tools. Default: 0.',
  }),
)

const Http = define(
  'HttpToolFields',
  Type.Object(
    {
      type: Type.Literal('http'),
      name: ToolName,
      description: wellFormed({ minLength: 1, maxLength: 8000 }),
      parameters: Type.Record(Type.String(), Type.Unknown(), {
        description: 'JSON Schema of the arguments. The top level must be an object.',
      }),
      method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
      url: Type.String({
        ...Url,
        description: '{name} is replaced by an argument of the call or a secret, percent-encoded as one URL component.',
      }),
      headers: Type.Optional(Headers),
      secrets: Type.Optional(Secrets),
      timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 60 })),
      side_effects: Type.Optional(
        Type.Boolean({ description: 'Whether a call can change something. Such a call is never made twice. Default: true.' }),
      ),
      price_usd: PriceOfCall,
    },
    closed,
  ),
)
const Mcp = define(
  'McpServerFields',
  Type.Object(
    {
      type: Type.Literal('mcp'),
      name: ToolName,
      url: Url,
      headers: Type.Optional(Headers),
      allowed: Type.Optional(Type.Union([Type.Array(wellFormed({ minLength: 1, maxLength: 200 }), { maxItems: 200 }), Type.Null()])),
      price_usd: PriceOfCall,
    },
    closed,
  ),
)
const BuiltIn = define(
  'BuiltInToolFields',
  Type.Object({ type: Type.Literal('builtin'), name: Type.Enum(['now', 'search_knowledge']), price_usd: PriceOfCall }, closed),
)
/** Named, because a discriminator of OpenAPI selects one of several names. */
export const toolFields = [Http, Mcp, BuiltIn]
/** For a trial of a tool or a server that is not saved yet. */
export const HttpTool = Http.ref
export const McpServer = Mcp.ref

type GivenTool = Static<typeof Http.ref> | Static<typeof Mcp.ref> | Static<typeof BuiltIn.ref>
// Selected by `type`, so that an error refers to the kind of tool that the request meant.
const Tool = Type.Unsafe<GivenTool>({
  type: 'object',
  required: ['type'],
  // Checked before the discriminator, whose error message does not list the allowed values.
  properties: { type: { enum: ['http', 'mcp', 'builtin'] } },
  discriminator: { propertyName: 'type' },
  oneOf: [Http.ref, Mcp.ref, BuiltIn.ref],
})

/** At most 32 entries: models choose poorly from longer lists. */
export const Tools = Type.Array(Tool, { maxItems: 32 })

// The timeout of a tool call: `fault.tool-hostile`.
const defaultTimeoutSeconds = 10

/**
 * Returns the fields in a fixed order, so that the same tool with its fields in another order compares equal. `at`: the path of the tool in the
 * request. Throws ApiError `validation_error`.
 */
export function readTool(tool: Static<typeof Mcp.ref>, at: string): Extract<Given, { type: 'mcp' }>
export function readTool(tool: GivenTool, at: string): Given
export function readTool(tool: GivenTool, at: string): Given {
  const price = readPrice(tool, `${at}.price_usd`)
  switch (tool.type) {
    case 'http': {
      const { type, name, description, parameters, method, url, headers = {}, secrets = {} } = tool
      const { timeout_seconds: timeoutSeconds = defaultTimeoutSeconds, side_effects: sideEffects = true } = tool
      return { type, name, description, parameters, method, url, headers, secrets, timeoutSeconds, sideEffects, ...price }
    }
    case 'mcp': {
      const { type, name, url, headers = {}, allowed = null } = tool
      return { type, name, url, headers, allowed, ...price }
    }
    case 'builtin':
      return { type: tool.type, name: tool.name, ...price }
  }
}

/** A price of zero is that of a tool without one. */
function readPrice({ name, price_usd: text }: GivenTool, field: string): { price?: number } {
  const price = text === undefined ? 0n : readUsd(field, text)
  if (price < 0n || price > maxToolPrice)
    throw invalid(field, `The tool ${name}: price_usd must be between 0 and ${formatUsd(maxToolPrice)}.`)
  return price === 0n ? {} : { price: Number(price) }
}

export function writeTool(shown: Shown): Static<typeof ToolAnswer.ref> {
  const { price = 0, ...tool } = shown
  const priceUsd = formatUsd(BigInt(price))
  switch (tool.type) {
    case 'http': {
      const { timeoutSeconds, sideEffects, headers, secrets, ...rest } = tool
      const texts = { headers: withoutValues(headers), secrets: withoutValues(secrets) }
      return { ...rest, ...texts, timeout_seconds: timeoutSeconds, side_effects: sideEffects, price_usd: priceUsd }
    }
    case 'mcp':
      return { ...tool, headers: withoutValues(tool.headers), pinned: tool.pinned.map(writePinned), price_usd: priceUsd }
    case 'builtin':
      return { ...tool, price_usd: priceUsd }
  }
}

export const writeDifference = ({ server, tool, change, ...sides }: Difference): Static<typeof ToolDifferences.ref>['data'][number] => ({
  server,
  tool,
  change,
  ...('before' in sides ? { before: writePinned(sides.before) } : {}),
  ...('now' in sides ? { now: writePinned(sides.now) } : {}),
})

const withoutValues = (names: string[]): Record<string, null> => Object.fromEntries(names.map((name) => [name, null]))

const writePinned = ({ sideEffects, ...rest }: Pinned): Extract<Static<typeof ToolAnswer.ref>, { type: 'mcp' }>['pinned'][number] => ({
  ...rest,
  side_effects: sideEffects,
})
