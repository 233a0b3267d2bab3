/** The responses of the admin API about end users. */
import { AmountUsd, Count, Time, TimeOrNull, idOf } from './answer-fields.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const EndUser = define(
  'EndUser',
  Type.Object({
    external_user_id: Type.String(),
    spent_usd: AmountUsd,
    turns: Type.Integer({ minimum: 0, description: 'Turns that ended in the window, however they ended.' }),
    last_activity_at: Time,
    feedback: Type.Object({ up: Count, down: Count }, { description: 'On turns that ended in the window.' }),
  }),
)

const Spend = Type.Object({ spent_usd: AmountUsd, turns: Count })
export const EndUserDetail = define(
  'EndUserDetail',
  Type.Object({
    agent_id: idOf('agt'),
    external_user_id: Type.String(),
    spend: Type.Object(
      { day: Spend, month: Spend, total: Spend },
      { description: 'Of the current UTC day, the current UTC month, and all time.' },
    ),
    last_activity_at: Type.Union([Time, Type.Null()], { description: 'When the last turn ended. Null while none has.' }),
    feedback: Type.Object({ up: Count, down: Count }),
    conversations: Type.Array(
      Type.Object({ id: idOf('conv'), key_id: idOf('key'), created_at: Time, last_message_at: TimeOrNull, message_count: Count }),
      { description: 'One for each API key through which the end user has written.' },
    ),
  }),
)

export const endUserSchemas = [EndUser, EndUserDetail]
