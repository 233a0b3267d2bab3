/** Describes a validation error in words. Names the field and the rule, never the value that was sent. */
import type { FastifySchemaValidationError } from 'fastify'

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

/** `part` is the part of the request that was validated: body, querystring or params. */
export function describeInvalid(part: string, { keyword, instancePath, params, message }: FastifySchemaValidationError): string {
  const path = instancePath.slice(1).replaceAll('/', '.')
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

/** Describes a field or parameter that does not exist. Repeats its name only if it is plain. */
export const nameUnknown = (subject: string, what: 'field' | 'parameter', name = ''): string =>
  `${subject} has an unknown ${what}${plainName.test(name) ? `: ${name}` : ''}.`

export const tooLong = (subject: string, limit: unknown): string => `${subject} must have at most ${String(limit)} characters.`

const join = (path: string, name: string): string => (path ? `${path}.${name}` : name)
