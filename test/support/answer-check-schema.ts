/**
 * Compiles a schema of a description: references resolved, objects closed, formats strict. An unknown keyword throws, so that nothing in a
 * description is left unchecked. Supports what our descriptions use: plain JSON Schema 2020-12 without recursion.
 */
import { Validator } from '@cfworker/json-schema'

type Json = Record<string, any>
/** Returns what is wrong with a value, or undefined. */
export type SchemaCheck = (value: unknown) => string[]

// `time.format`; the format alone allows more.
const moment = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'

const words = new Set(['title', 'description', 'examples', 'default', 'deprecated', 'discriminator'])
const plain = new Set([
  'type',
  'const',
  'enum',
  'required',
  'minLength',
  'maxLength',
  'pattern',
  'format',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'uniqueItems',
  'maxProperties',
  'uniqueItems',
])
const one = new Set(['items', 'additionalProperties'])
const several = new Set(['anyOf', 'oneOf', 'allOf'])
const named = new Set(['properties', 'patternProperties'])

/**
 * `document` is what references refer to. Throws for an unknown keyword. The value of an event stream is its text: each event in it is checked,
 * against the schema of its events.
 */
export function compileClosed(schema: Json, document: Json): SchemaCheck {
  if (schema['contentMediaType'] === 'text/event-stream') {
    const { contentMediaType: _, contentSchema, ...text } = schema
    const [checkText, checkEvent] = [compileClosed(text, document), compileClosed(contentSchema, document)]
    return (value) => [...checkText(value), ...eventsOf(String(value)).flatMap(checkEvent)]
  }
  const validator = new Validator(close(schema, document), '2020-12', false)
  return (value) => {
    const { errors } = validator.validate(value)
    // The last ones are the innermost, which name the cause.
    return errors
      .filter(({ keyword }) => !['properties', 'items', 'anyOf', 'false'].includes(keyword))
      .slice(-3)
      .map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`)
      .concat(errors.length > 0 ? [`${JSON.stringify(value).slice(0, 400)}`] : [])
  }
}

/** The events of a stream, with their data as JSON if it is JSON. Without their IDs, which no schema describes. */
const eventsOf = (text: string): Json[] =>
  text
    .split('\n\n')
    .filter((block) => block.length > 0 && !block.startsWith(':'))
    .map((block) =>
      Object.fromEntries(
        block
          .split('\n')
          .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])
          .filter(([name]) => name !== 'id')
          .map(([name, value]): [string, unknown] => [
            name,
            name === 'data' && /^[{["]/.test(value) && value !== '[DONE]' ? JSON.parse(value) : value,
          ]),
      ),
    )

function close(schema: Json | boolean, document: Json): Json {
  if (typeof schema === 'boolean') return schema as unknown as Json
  if (typeof schema['$ref'] === 'string') return close(targetOf(schema['$ref'], document), document)
  const closed: Json = {}
  for (const [keyword, value] of Object.entries<any>(schema)) {
    if (plain.has(keyword)) closed[keyword] = value
    else if (one.has(keyword)) closed[keyword] = close(value, document)
    else if (several.has(keyword)) closed[keyword] = (value as Json[]).map((each) => close(each, document))
    else if (named.has(keyword))
      closed[keyword] = Object.fromEntries(Object.entries<Json>(value).map(([name, each]) => [name, close(each, document)]))
    else if (!words.has(keyword)) throw new Error(`there is no check for the keyword ${keyword} of ${JSON.stringify(schema).slice(0, 200)}`)
  }
  // For a discriminated union, the members are closed.
  if (closed['properties'] && closed['additionalProperties'] === undefined && !closed['oneOf']) closed['additionalProperties'] = false
  if (closed['format'] === 'date-time') closed['pattern'] = moment
  return closed
}

export function targetOf(ref: string, document: Json): Json {
  const target = ref
    .split('/')
    .slice(1)
    .reduce<Json | undefined>((at, name) => at?.[name], document)
  if (!target) throw new Error(`${ref} leads nowhere`)
  return target
}
