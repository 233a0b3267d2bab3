/** Request bodies for agents: their fields and limits. The admin module sets defaults and prices. */
import type { Static } from 'typebox'
import { newAgentExample } from '../examples.ts'
import { agentFields } from '../../../resources/agent.ts'
import { Usd, idGiven } from '../fields.ts'
import { NewLimits } from './spend-limit-fields.ts'
import { McpServer, Tools } from './tools.ts'
import { changeProperties, newProperties } from '../wire.ts'
import { Type } from '../../edge/schema.ts'

const closed = { additionalProperties: false } as const

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
  tools: Type.Optional(Tools),
  spend_limits: Type.Optional(NewLimits),
}
export type GivenPrice = NonNullable<Static<ReturnType<typeof Type.Object<typeof options>>>['price']>

export const NewAgent = Type.Object(
  { owner_id: idGiven('own', 'The owner who pays for the turns.'), ...newProperties(agentFields), ...options },
  { ...closed, examples: [newAgentExample] },
)
export const AgentChange = Type.Object(
  { ...changeProperties(agentFields), ...options, enabled: Type.Optional(Type.Boolean()) },
  { ...closed, examples: [{ system_prompt: 'You answer questions about orders. Be brief.', temperature: 0.2 }] },
)
export const Rollback = Type.Object({ version: Type.Integer({ minimum: 1, maximum: 2 ** 31 }) }, { ...closed, examples: [{ version: 1 }] })
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
