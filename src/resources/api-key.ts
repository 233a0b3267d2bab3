/** An API key: allows a caller to use one agent, with a permission and a rate window. Its secret is no field. */
import { flag, id, one, orNull, text, time, whole } from './field.ts'
import type { Change, Fields, Given, Resource } from './field.ts'

export const apiKeyFields = {
  id: { kind: id('key'), example: 'key_01jd3v9qk8x2m5n7p4r6t8w0ye' },
  /** svc_live_<key_id>.<secret> */
  keyId: { kind: text(16, 16), says: 'The public part of the API key.', example: 'k7m2p9q4r8t1v5x3' },
  agentId: { kind: id('agt'), audit: 'shown', example: 'agt_01jd3v9qk8x2m5n7p4r6t8w0yc' },
  name: {
    kind: orNull(text(1, 200)),
    create: 'optional',
    change: true,
    initial: null,
    example: 'Web shop',
    option: { flags: '--name <name>', says: 'Name of the API key' },
  },
  permission: {
    kind: one('full', 'read-only'),
    create: 'required',
    change: true,
    example: 'full',
    option: { flags: '--permission <permission>', says: 'Permission of the API key' },
  },
  // A window longer than a day no longer detects abuse, and more than a million requests in one is no longer a useful limit.
  'rateLimit.limit': {
    kind: whole(1, 1_000_000),
    column: 'rate_limit',
    create: 'optional',
    change: true,
    together: true,
    initial: 120,
    example: 120,
    option: { flags: '--limit <requests>', says: 'Requests per window; requires --window' },
  },
  'rateLimit.windowSeconds': {
    kind: whole(1, 86_400),
    column: 'rate_window_seconds',
    create: 'optional',
    change: true,
    together: true,
    initial: 60,
    example: 60,
    option: { flags: '--window <seconds>', says: 'Length of the window in seconds; requires --limit' },
  },
  defaultExternalUserId: {
    kind: orNull(text(1, 255)),
    create: 'optional',
    change: true,
    initial: null,
    // The name of an end user.
    audit: 'withheld',
    says: 'The end user of requests that name none, for the OpenAI endpoints and MCP. Null: such requests are refused.',
    asks: 'The end user of requests that name none, for the OpenAI endpoints and MCP. Null: such requests are refused.',
    example: null,
    option: { flags: '--default-user <id>', says: 'End user of requests that name none; "" for no default' },
  },
  mcp: {
    kind: flag,
    create: 'optional',
    change: true,
    initial: true,
    says: 'Whether the key may call the agent as an MCP server.',
    asks: 'Whether the key may call the agent as an MCP server. Default: true.',
    example: true,
    option: {
      flags: '--mcp',
      says: 'Allow the key to call the agent as an MCP server (the default)',
      no: 'Do not allow the key to call the agent as an MCP server',
    },
  },
  createdAt: { kind: time, example: '2026-11-21T09:00:00.000Z' },
  /** Up to a minute late. */
  lastUsedAt: {
    kind: orNull(time),
    says: 'Updated at most once a minute. Null if the key was never used.',
    example: '2026-11-21T14:11:57.104Z',
  },
  revokedAt: { kind: orNull(time), example: null },
} as const satisfies Fields

export type ApiKey = Resource<typeof apiKeyFields>
export type GivenApiKey = Given<typeof apiKeyFields>
export type ApiKeyChange = Change<typeof apiKeyFields>
