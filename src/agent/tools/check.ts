/**
 * Checks the tools that an operator saves (`tools.arguments`). Rejects tools that could not be called, that have the same name as another
 * one, or that would let the model's arguments decide where a call goes; the sentence says which tool and why. Contacts no server, and does
 * not apply the list of allowed private hosts: the guard does that on each call.
 */
import { cleanText } from '../clean-text.ts'
import { fillText, partsOf, placeholdersIn, queryNames } from './placeholders.ts'
import { minSecret } from './redact.ts'
import { schemaProblem } from './schema/compiled-schema.ts'
import { mcpToolName } from './tool-config.ts'
import type { OpenHttpTool, OpenMcpServer, OpenTool } from './tool-config.ts'

// The number of tools that the large providers accept in one request.
const maxTools = 128
const maxSchemaBytes = 65_536
const maxDescriptionBytes = 8192
const maxUrlCharacters = 2048
// More than any server accepts in one header.
const maxValueBytes = 8192
const maxTexts = 32
const maxSeconds = 60

const toolName = /^[a-zA-Z0-9_-]{1,64}$/
const headerName = /^[!#$%&'*+.^_`|~0-9a-zA-Z-]{1,64}$/
// Latin-1 on one line.
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/
// These headers belong to the connection, or are set by Turnkeep.
const ourHeaders =
  /^(host|connection|content-length|transfer-encoding|idempotency-key|keep-alive|te|trailer|upgrade|expect|accept-encoding|content-encoding|proxy-.*)$/
const mcpHeaders = /^(mcp-.*|accept|content-type|last-event-id)$/

/**
 * `message` is a sentence for the operator, without header values or secrets. `tool` is the index of the tool that it is about, and `field` the
 * field of this tool, by its name in the API. Without both, it is about all tools together.
 */
type ToolProblem = FieldProblem & { tool: number }
type FieldProblem = { message: string; field: string }

/** Returns the first problem with the tools of an agent; undefined if none. */
export function checkTools(tools: OpenTool[]): ToolProblem | { message: string } | undefined {
  const named = tools.flatMap((tool, index) =>
    tool.type === 'mcp' ? tool.pinned.map(({ name }) => ({ name: mcpToolName(tool.name, name), index })) : [{ name: tool.name, index }],
  )
  const servers = tools.flatMap(({ type, name }, index) => (type === 'mcp' ? [{ name, index }] : []))
  const twice = findTwice(named) ?? findTwice(servers)
  if (twice) return { message: `Two tools have the name ${twice.name}.`, tool: twice.index, field: 'name' }
  if (named.length > maxTools) return { message: `An agent can have at most ${maxTools} tools.` }
  for (const [tool, one] of tools.entries()) {
    const problem = problemOf(one)
    if (problem) return { ...problem, tool }
  }
  return undefined
}

type Named = { name: string; index: number }
/** The second one of two with the same name. */
const findTwice = (all: Named[]): Named | undefined => all.find(({ name }, at) => all.findIndex((one) => one.name === name) !== at)

function problemOf(tool: OpenTool): FieldProblem | undefined {
  if (tool.type === 'builtin') return undefined
  if (!toolName.test(tool.name))
    return { message: `The tool name ${JSON.stringify(tool.name.slice(0, 64))} must have 1 to 64 letters, digits, _ or -.`, field: 'name' }
  const problem = tool.type === 'http' ? httpProblem(tool) : mcpProblem(tool)
  return problem && { ...problem, message: `The tool ${tool.name}: ${problem.message}.` }
}

const inField = (field: string, message: string | undefined): FieldProblem | undefined =>
  message === undefined ? undefined : { field, message }

const httpProblem = (tool: OpenHttpTool): FieldProblem | undefined =>
  inField('description', descriptionProblem(tool)) ??
  inField('timeout_seconds', timeoutProblem(tool)) ??
  inField('parameters', parametersProblem(tool)) ??
  inField('secrets', secretsProblem(tool)) ??
  inField('url', addressProblem(tool)) ??
  inField('headers', headersProblem(tool.headers, tool.secrets))

const mcpProblem = ({ url, headers }: OpenMcpServer): FieldProblem | undefined =>
  inField('url', plainAddressProblem(url)) ?? inField('headers', headersProblem(headers, undefined))

function descriptionProblem({ description }: OpenHttpTool): string | undefined {
  if (Buffer.byteLength(description) > maxDescriptionBytes) return `its description exceeds ${maxDescriptionBytes} bytes`
  return cleanText(description) === description ? undefined : 'its description is not well-formed text'
}

const timeoutProblem = ({ timeoutSeconds }: OpenHttpTool): string | undefined =>
  timeoutSeconds >= 1 && timeoutSeconds <= maxSeconds ? undefined : `its timeout must be between 1 and ${maxSeconds} seconds`

function parametersProblem({ parameters }: OpenHttpTool): string | undefined {
  if (parameters['type'] !== 'object') return 'its parameters must be a JSON Schema of type "object"'
  if (Buffer.byteLength(JSON.stringify(parameters)) > maxSchemaBytes) return `its parameters exceed ${maxSchemaBytes} bytes`
  const problem = schemaProblem(parameters, true)
  return problem && `the schema of its parameters ${problem}`
}

function secretsProblem({ secrets, parameters }: OpenHttpTool): string | undefined {
  const entries = Object.entries(secrets)
  if (entries.length > maxTexts) return `it has more than ${maxTexts} secrets`
  const odd = entries.find(([name]) => !toolName.test(name))
  if (odd) return `the secret name ${JSON.stringify(odd[0].slice(0, 64))} must have 1 to 64 letters, digits, _ or -`
  for (const [name, value] of entries) {
    if (value.length < minSecret)
      return `the secret ${name} must have at least ${minSecret} characters, so that it can be removed from tool results`
    if (Buffer.byteLength(value) > maxValueBytes) return `the secret ${name} exceeds ${maxValueBytes} bytes`
    if (cleanText(value) !== value) return `the secret ${name} is not well-formed text`
  }
  const both = entries.find(([name]) => propertiesOf(parameters).includes(name))
  return both && `${both[0]} is both a secret and a parameter`
}

function addressProblem({ url, parameters, secrets }: OpenHttpTool): string | undefined {
  const { origin, path, rest } = partsOf(url)
  const plain = plainAddressProblem(fillText(url, () => 'x'))
  if (/[{}]/.test(origin)) return 'its url must not have a placeholder in the scheme, host or port'
  if (plain !== undefined) return plain
  const unknown = placeholdersIn(url).find((name) => !propertiesOf(parameters).includes(name) && !Object.hasOwn(secrets, name))
  if (unknown !== undefined) return `{${unknown}} in its url is neither a parameter nor a secret`
  if (path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) return 'its url must not contain a "." or ".." path segment'
  if (
    rest
      .slice(1)
      .split('&')
      .some((pair) => /[{}]/.test(pair.split('=', 1)[0]!))
  )
    return 'a placeholder in the query of its url must follow "name="'
  const names = queryNames(url).map((name) => name.toLowerCase())
  const taken = propertiesOf(parameters).find((name) => names.includes(name.toLowerCase()) && !placeholdersIn(url).includes(name))
  return taken && `${taken} is both in its url and a parameter`
}

function plainAddressProblem(url: string): string | undefined {
  const parsed = URL.parse(url)
  if (url.length > maxUrlCharacters || !parsed || !/^https?:\/\/[^/?#\\@]+([/?]|$)/i.test(url)) {
    return 'its url must be an absolute https URL of at most 2,048 characters without a user name'
  }
  // Characters that a URL parser silently drops or changes.
  return /[\s\\{}#]|\p{Cc}/u.test(url) ? 'its url must not contain a space, #, \\, or a brace that is not part of a placeholder' : undefined
}

function headersProblem(headers: Record<string, string>, secrets: Record<string, string> | undefined): string | undefined {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  if (names.length > maxTexts) return `it has more than ${maxTexts} headers`
  const odd = Object.keys(headers).find((name) => !headerName.test(name))
  if (odd !== undefined)
    return `${JSON.stringify(odd.slice(0, 64))} is not a valid header name: use 1 to 64 letters, digits and characters such as -, without spaces`
  const ours = names.find((name, index) => ourHeaders.test(name) || (!secrets && mcpHeaders.test(name)) || names.indexOf(name) !== index)
  if (ours !== undefined) return `the header ${ours} is reserved or set twice`
  for (const [name, value] of Object.entries(headers)) {
    const unknown = secrets && placeholdersIn(value).find((placeholder) => !Object.hasOwn(secrets, placeholder))
    if (unknown !== undefined) return `{${unknown}} in its header ${name} is not a secret`
    const filled = secrets ? fillText(value, (placeholder) => secrets[placeholder]!) : value
    if (!headerValue.test(filled) || filled.length > maxValueBytes)
      return `the value of its header ${name} must be one line of Latin-1 characters and not too long`
  }
  return undefined
}

function propertiesOf({ properties }: OpenHttpTool['parameters']): string[] {
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
}
