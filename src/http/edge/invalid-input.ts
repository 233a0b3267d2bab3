/** What a schema refused, in words: names the field and the rule, never the value that was sent. */
import type { FastifySchemaValidationError } from 'fastify'

/** `text.well-formed` as a schema pattern: neither U+0000 nor a lone surrogate. */
export const wellFormedPattern = '^[^\\u0000\\p{Cs}]*$'

/** Code points of a message that no agent can be set to take more of: what the door can say before it is known what the agent takes. */
export const maxMessage = 1_000_000

// A field's name is repeated only where it looks like one; what else a caller may send as a name is not ours to print.
const plainName = /^[\w.-]{1,64}$/

/** `part` is what was validated: body, querystring or params. */
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
        : `${subject} does not have the required form.`
    // A list of things of several kinds, each told by its own `type`.
    case 'discriminator':
      return `${join(path, String(params['tag']))} must name a known kind.`
    case 'enum':
      return `${subject} must be one of ${[params['allowedValues']].flat().join(', ')}.`
    default:
      return `${subject} ${message ?? 'is not valid'}.`
  }
}

/** Of a name that the caller made up. */
export const nameUnknown = (subject: string, what: 'field' | 'parameter', name = ''): string =>
  `${subject} has an unknown ${what}${plainName.test(name) ? `: ${name}` : ''}.`

export const tooLong = (subject: string, limit: unknown): string => `${subject} must have at most ${String(limit)} characters.`

const join = (path: string, name: string): string => (path ? `${path}.${name}` : name)
