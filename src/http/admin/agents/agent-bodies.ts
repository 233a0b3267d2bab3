/** Request bodies for agents: their fields and limits. The admin module sets defaults and prices. */
import type { Static } from 'typebox'
import { newAgentExample } from '../examples.ts'
import { Name, Usd, idGiven, wellFormed } from '../fields.ts'
import { NewLimits } from './spend-limit-fields.ts'
import { McpServer, Tools } from './tools.ts'
import { inWords, maxMessage } from '../../edge/invalid-input.ts'
import { Type } from '../../edge/schema.ts'

const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum })
const closed = { additionalProperties: false } as const

// These limits keep the largest hold below two million tokens, which at the highest price still fits a database column (ledger.ts): system
// prompt 200,000 (four bytes per code point) + tools 100,000 (agent-tools.ts) + history + knowledge + message 500,000 (largest body) + output.
export const Model = Type.String({
  maxLength: 300,
  pattern: inWords(
    '^[^/\\s\\u0000-\\u001f\\p{Cs}]+/[^\\u0000-\\u001f\\p{Cs}]+$',
    'the name of a provider, a slash and the ID of a model, such as openai/gpt-5.4-mini',
  ),
})
const fields = {
  name: Name,
  system_prompt: wellFormed({ maxLength: 100_000 }),
  model: Model,
}
const options = {
  price: Type.Optional(
    Type.Object(
      {
        prompt_usd_per_million: Usd,
        completion_usd_per_million: Usd,
        cached_prompt_usd_per_million: Type.Optional(
          Type.Union([Usd, Type.Null()], {
            description: 'Of prompt tokens that the provider read from its cache. Null or absent: the prompt price.',
          }),
        ),
        cache_write_usd_per_million: Type.Optional(
          Type.Union([Usd, Type.Null()], {
            description: 'Of prompt tokens that the provider wrote to its cache. Null or absent: the prompt price.',
          }),
        ),
      },
      closed,
    ),
  ),
  max_output_tokens: Type.Optional(whole(1, 200_000)),
  temperature: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 2 }), Type.Null()])),
  max_steps: Type.Optional(whole(1, 32)),
  max_tool_calls: Type.Optional(whole(0, 128)),
  max_message_length: Type.Optional(whole(1, maxMessage)),
  history: Type.Optional(
    Type.Object(
      {
        max_tokens: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 800_000,
            description: 'Default: 8,000, or less if the known context window of the model is too small for that.',
          }),
        ),
      },
      closed,
    ),
  ),
  knowledge: Type.Optional(
    Type.Object(
      {
        max_tokens: Type.Optional(whole(0, 100_000)),
        top_k: Type.Optional(whole(0, 50)),
        embedding_model: Type.Optional(
          Type.Union([Model, Type.Null()], {
            description: '"<provider name>/<model id>" to also search by meaning, or null to search by keywords only.',
          }),
        ),
        language: Type.Optional(
          Type.Union([Type.String({ minLength: 1, maxLength: 40 }), Type.Null()], {
            description:
              'Language of the documents, so that a search for "ship" also finds "shipping". null: english. "none": only exact words.',
          }),
        ),
      },
      closed,
    ),
  ),
  tools: Type.Optional(Tools),
  spend_limits: Type.Optional(NewLimits),
}
export const NewAgent = Type.Object(
  { owner_id: idGiven('own', 'The owner who pays for the turns.'), ...fields, ...options },
  { ...closed, examples: [newAgentExample] },
)
export const AgentChange = Type.Object(
  { ...Type.Partial(Type.Object(fields)).properties, ...options, enabled: Type.Optional(Type.Boolean()) },
  { ...closed, examples: [{ system_prompt: 'You answer questions about orders. Be brief.', temperature: 0.2 }] },
)
export const Rollback = Type.Object({ version: whole(1, 2 ** 31) }, { ...closed, examples: [{ version: 1 }] })
/** The body is optional. */
export const Refresh = Type.Union(
  [
    Type.Object(
      {
        approve: Type.Optional(
          Type.Boolean({ description: 'Approves the tools that the servers offer now and saves them in a new version.' }),
        ),
        definition: Type.Optional(McpServer),
      },
      closed,
    ),
    Type.Null(),
  ],
  { examples: [{ approve: true }] },
)

/** The fields that are optional both when creating and when updating an agent. */
export type AgentOptions = Static<ReturnType<typeof Type.Object<typeof options>>>
