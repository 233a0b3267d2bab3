/** Response schemas of the admin API for agents, tools and documents. The others are in admin/answers.ts. */
import { AmountUsd, Count, Price, PriceSource, Time, TimeOrNull, Version, idOf, orNull } from '../answer-fields.ts'
import { Limits, Warnings } from './spend-limit-fields.ts'
import { agentFields } from '../../../resources/agent.ts'
import { answerProperties } from '../wire.ts'
import { warningKinds } from '../../../document-warnings.ts'
import { define } from '../../public/schemas.ts'
import { Type } from '../../edge/schema.ts'

const Texts = Type.Record(Type.String(), Type.Null(), { description: 'Names only. Values are never returned.' })
const schemaOfArguments = Type.Unsafe<object>({ type: 'object', description: 'JSON Schema of the arguments.' })
const described = { name: Type.String(), description: Type.String(), side_effects: Type.Boolean() }

export const PinnedTool = Type.Object({ ...described, parameters: schemaOfArguments })
const unusable = { name: Type.String(), reason: Type.String({ description: 'A sentence without its subject, the tool.' }) }

export const Tool = define(
  'Tool',
  Type.Union([
    Type.Object({
      type: Type.Literal('http'),
      ...described,
      parameters: schemaOfArguments,
      method: Type.String(),
      url: Type.String(),
      headers: Texts,
      secrets: Texts,
      timeout_seconds: Type.Number(),
      price_usd: AmountUsd,
    }),
    Type.Object({
      type: Type.Literal('mcp'),
      name: Type.String(),
      url: Type.String(),
      headers: Texts,
      allowed: orNull(Type.Array(Type.String())),
      pinned: Type.Array(PinnedTool, {
        description: 'The tools of the MCP server that were approved when the agent was saved or refreshed. Only these can be called.',
      }),
      unusable: Type.Optional(
        Type.Array(Type.Object(unusable), {
          description: 'Tools of the MCP server that cannot be used, and why. The others are not affected. Absent if there are none.',
        }),
      ),
      price_usd: AmountUsd,
    }),
    Type.Object({ type: Type.Literal('builtin'), name: Type.String(), price_usd: AmountUsd }),
  ]),
)

export const ToolDifferences = define(
  'ToolDifferences',
  Type.Object({
    data: Type.Array(
      Type.Object({
        server: Type.String(),
        tool: Type.String(),
        change: Type.Enum(['added', 'removed', 'changed']),
        before: Type.Optional(PinnedTool),
        now: Type.Optional(PinnedTool),
      }),
    ),
    unusable: Type.Array(Type.Object({ server: Type.String(), ...unusable }), {
      description: 'Tools that the servers offer and that cannot be used, and why. They are not among the differences.',
    }),
    version: Type.Integer({ minimum: 1, description: 'Current version of the agent. A new version if differences were approved.' }),
  }),
)

export const documentStatuses = ['queued', 'indexing', 'ready', 'failed'] as const

export const Document = define(
  'Document',
  Type.Object({
    id: idOf('doc'),
    agent_id: idOf('agt'),
    title: Type.String(),
    source: Type.Enum(['file', 'text', 'url']),
    file_name: orNull(Type.String()),
    media_type: orNull(Type.String()),
    url: orNull(Type.String()),
    status: Type.Enum([...documentStatuses], {
      description: 'While a document is being replaced, searches still find its old content until the new content is ready.',
    }),
    reason: Type.Union([Type.String(), Type.Null()], { description: 'Why indexing failed.' }),
    progress: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()], {
      description: 'Percentage, while the document is being indexed.',
    }),
    chunks: Type.Integer({ minimum: 0, description: 'Number of passages that searches can find.' }),
    warnings: Type.Array(
      Type.Object({
        kind: Type.Enum([...warningKinds]),
        count: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: 'How many. Null where a number says nothing.' }),
        message: Type.String({ description: 'What was not read, and what helps.' }),
      }),
      { description: 'What was not read of the text that searches find now. Empty if nothing was left out. Later versions may add kinds.' },
    ),
    bytes: Count,
    source_sha256: Type.Union([Type.String(), Type.Null()], {
      description:
        'SHA-256 of the uploaded file or text, in hex. Null for a URL, and for a document that was stored before digests were recorded.',
    }),
    created_at: Time,
    updated_at: Time,
    indexed_at: TimeOrNull,
    waits_until: Type.Union([Time, Type.Null()], {
      description:
        'While it is queued: when documents of this owner are indexed again, if they have used up their CPU time of an hour. Null otherwise.',
    }),
  }),
)

const headings = 'The headings above the passage, such as "Returns › Deadlines"'
const source = { document_id: idOf('doc'), title: Type.String() }
/** The source of a passage. */
export const Source = Type.Object({ ...source, section: Type.String({ description: `${headings}. Empty if there are none.` }) })

export const Found = define(
  'Passages',
  Type.Object({
    data: Type.Array(
      Type.Object({
        ...source,
        section: Type.Optional(Type.String({ description: `${headings}. Absent if there are none.` })),
        text: Type.String(),
        score: Type.Number({ description: 'Higher is better. Only comparable within one search.' }),
      }),
    ),
  }),
)

export const Chunk = define(
  'Chunk',
  Type.Object({
    position: Type.Integer({ minimum: 0, description: 'Place in the document, starting at 0.' }),
    section: Type.Optional(Type.String({ description: `${headings}. Absent if there are none.` })),
    text: Type.String(),
  }),
)

const { name, system_prompt, model, ...settings } = answerProperties(agentFields)
const agentContent = { name, system_prompt, model, price: Price, price_source: PriceSource, ...settings, tools: Type.Array(Tool.ref) }

export const Agent = define(
  'Agent',
  Type.Object({
    id: idOf('agt'),
    owner_id: idOf('own'),
    version: Version,
    enabled: Type.Boolean(),
    spend_limits: Limits,
    warnings: Warnings,
    ...agentContent,
    created_at: Time,
    updated_at: Time,
  }),
)
export const AgentVersion = define('AgentVersion', Type.Object({ version: Version, ...agentContent, created_at: Time }))
export const PriceOfVersion = define(
  'PriceOfVersion',
  Type.Object({ version: Version, price: Price, price_source: PriceSource, created_at: Time }),
)
