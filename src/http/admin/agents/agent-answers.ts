/** What the admin API answers of agents, their tools and their knowledge; the rest is in admin/answers.ts. */
import { Count, Price, Time, TimeOrNull, Version, idOf, orNull } from '../answer-fields.ts'
import { define } from '../../public/schemas.ts'
import { Type } from '../../edge/schema.ts'

const Texts = Type.Record(Type.String(), Type.Null(), { description: 'The names alone: values come in and never go out.' })
const schemaOfArguments = Type.Unsafe<object>({ type: 'object', description: 'JSON Schema.' })
const described = { name: Type.String(), description: Type.String(), side_effects: Type.Boolean() }

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
    }),
    Type.Object({
      type: Type.Literal('mcp'),
      name: Type.String(),
      url: Type.String(),
      headers: Texts,
      allowed: orNull(Type.Array(Type.String())),
      pinned: Type.Array(Type.Object(described), {
        description: 'What the server offered when it was saved or approved, and nothing else is called.',
      }),
    }),
    Type.Object({ type: Type.Literal('builtin'), name: Type.String() }),
  ]),
)

const PinnedTool = Type.Object({ ...described, parameters: schemaOfArguments })
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
    version: Type.Integer({ minimum: 1, description: "The agent's version now: a new one where differences were approved." }),
  }),
)

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
    status: Type.Enum(['queued', 'indexing', 'ready', 'failed'], {
      description: 'A document that is replaced serves its former content until it is ready.',
    }),
    reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed.' }),
    progress: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()], { description: 'Per cent, while it is indexed.' }),
    chunks: Type.Integer({ minimum: 0, description: 'Passages that may be found.' }),
    bytes: Count,
    source_sha256: Type.Union([Type.String(), Type.Null()], {
      description:
        'In hex, of the bytes of the file or of the text as they were put in. Null of an address, and of what is from before digests were kept.',
    }),
    created_at: Time,
    updated_at: Time,
    indexed_at: TimeOrNull,
  }),
)

const headings = 'The headings it stands under, as "Returns › Deadlines"'
const source = { document_id: idOf('doc'), title: Type.String() }
/** Where a passage is from. */
export const Source = Type.Object({ ...source, section: Type.String({ description: `${headings}; empty where there are none.` }) })

export const Found = define(
  'Passages',
  Type.Object({
    data: Type.Array(
      Type.Object({
        ...source,
        section: Type.Optional(Type.String({ description: `${headings}; absent where there are none.` })),
        text: Type.String(),
        score: Type.Number({ description: 'Higher is better; to be compared within one search only.' }),
      }),
    ),
  }),
)

const agentContent = {
  name: Type.String(),
  system_prompt: Type.String(),
  model: Type.String({ examples: ['openai/gpt-5.4-mini'] }),
  price: Price,
  max_output_tokens: Count,
  temperature: orNull(Type.Number()),
  max_steps: Count,
  max_tool_calls: Count,
  max_message_length: Count,
  history: Type.Object({ max_tokens: Count }),
  knowledge: Type.Object({
    max_tokens: Count,
    top_k: Count,
    embedding_model: Type.Union([Type.String(), Type.Null()], { description: 'Null: by words alone.' }),
    language: orNull(Type.String()),
  }),
  tools: Type.Array(Tool.ref),
}

export const Agent = define(
  'Agent',
  Type.Object({
    id: idOf('agt'),
    owner_id: idOf('own'),
    version: Version,
    enabled: Type.Boolean(),
    ...agentContent,
    created_at: Time,
    updated_at: Time,
  }),
)
export const AgentVersion = define('AgentVersion', Type.Object({ version: Version, ...agentContent, created_at: Time }))
