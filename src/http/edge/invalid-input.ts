/** Describes a validation error in words. Names the field and the rule, never the value that was sent. */
import type { FastifySchemaValidationError } from 'fastify'
import { invalid } from '../../errors.ts'
import type { ApiError } from '../../errors.ts'

/** `text.well-formed` as a schema pattern: no U+0000 and no unpaired surrogate. */
export const wellFormedPattern = '^[^\\u0000\\p{Cs}]*$'

/** The largest message length, in code points, that any agent can allow. The agent's own limit is checked in the admission. */
export const maxMessage = 1_000_000

/** What a schema pattern requires, in words that complete "must be". A pattern that is not listed is reported without them. */
const words = new Map<unknown, string>()

/** Registers the words for a pattern and returns it. Call it where the schema is defined. */
export function inWords(pattern: string, must: string): string {
  words.set(pattern, must)
  return pattern
}

// An unknown field name is repeated in the message only if it looks like a field name; anything else could be arbitrary text.
const plainName = /^[\w.-]{1,64}$/

/** The error for what a schema refuses. `part` is the part of the request that was validated: body, querystring or params. */
export function invalidPart(part: string, found: FastifySchemaValidationError): ApiError {
  const path = found.instancePath.slice(1).replaceAll('/', '.')
  return invalid(fieldOf(path, found), describe(part, path, found))
}

/** `admin.param`: the field that is wrong or missing. An unknown one is named only if its name is plain, otherwise what contains it. */
function fieldOf(path: string, { keyword, params }: FastifySchemaValidationError): string | null {
  const named = { required: params['missingProperty'], discriminator: params['tag'], additionalProperties: params['additionalProperty'] }
  const name = Object.hasOwn(named, keyword) ? named[keyword as keyof typeof named] : undefined
  return (typeof name === 'string' && plainName.test(name) ? join(path, name) : path) || null
}

function describe(part: string, path: string, { keyword, params, message }: FastifySchemaValidationError): string {
  const subject = path || (part === 'body' ? 'The body' : 'The query')
  switch (keyword) {
    case 'required':
      return `${join(path, String(params['missingProperty']))} is required.`
    case 'additionalProperties': {
      return nameUnknown(subject, part === 'body' ? 'field' : 'parameter', String(params['additionalProperty']))
    }
    case 'type':
      return path || part !== 'body' ? `${subject} must be of type ${String(params['type'])}.` : 'The body must be a JSON object.'
    case 'minLength':
      return params['limit'] === 1
        ? `${subject} must not be empty.`
        : `${subject} must have at least ${String(params['limit'])} characters.`
    case 'maxLength':
      return tooLong(subject, params['limit'])
    case 'pattern':
      return params['pattern'] === wellFormedPattern
        ? `${subject} must not contain U+0000 or unpaired surrogates.`
        : `${subject} ${words.has(params['pattern']) ? `must be ${words.get(params['pattern'])}` : 'has an invalid format'}.`
    // An element of a list whose `type` selects its schema.
    case 'discriminator':
      return `${join(path, String(params['tag']))} must be one of the supported values.`
    case 'enum':
      return `${subject} must be one of ${[params['allowedValues']].flat().join(', ')}.`
    default:
      return `${subject} ${message ?? 'is invalid'}.`
  }
}

/** The error for a field of the body that does not exist. */
export const unknownField = (name = ''): ApiError => invalid(plainName.test(name) ? name : null, nameUnknown('The body', 'field', name))

/** Describes a field or parameter that does not exist. Repeats its name only if it is plain. */
const nameUnknown = (subject: string, what: 'field' | 'parameter', name = ''): string =>
  `${subject} has an unknown ${what}${plainName.test(name) ? `: ${name}` : ''}.`

export const tooLong = (subject: string, limit: unknown): string => `${subject} must have at most ${String(limit)} characters.`

const join = (path: string, name: string): string => (path ? `${path}.${name}` : name)
