/** The responses of the admin API about owners and their ledgers. */
import { AmountUsd, RequestId, Time, idOf, orNull } from './answer-fields.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

const ownerFields = {
  id: idOf('own'),
  name: Type.String(),
  balance_usd: AmountUsd,
  held_usd: AmountUsd,
  unpaid_usd: AmountUsd,
  available_usd: AmountUsd,
  created_at: Time,
}
export const Owner = define('Owner', Type.Object(ownerFields))

export const OwnerWithHolds = define(
  'OwnerWithHolds',
  Type.Object({
    ...ownerFields,
    running_turns: Type.Array(
      Type.Object({
        request_id: RequestId,
        agent_id: idOf('agt'),
        key_id: idOf('key'),
        external_user_id: orNull(Type.String()),
        held_usd: AmountUsd,
        started_at: Time,
      }),
      { maxItems: 100, description: 'The turns that hold the amount, newest first, at most 100.' },
    ),
  }),
)

const entryFields = {
  id: idOf('led'),
  owner_id: idOf('own'),
  kind: Type.Enum(['credit', 'adjustment', 'charge']),
  amount_usd: AmountUsd,
  written_off_usd: AmountUsd,
  request_id: orNull(RequestId),
  note: orNull(Type.String()),
  created_at: Time,
}
export const LedgerEntry = define('LedgerEntry', Type.Object(entryFields))

export const ListedLedgerEntry = define(
  'ListedLedgerEntry',
  Type.Object({
    ...entryFields,
    agent_id: Type.Union([idOf('agt'), Type.Null()], { description: 'Of the turn of a charge. Null for a credit or an adjustment.' }),
    key_id: orNull(idOf('key')),
    conversation_id: orNull(idOf('conv')),
    external_user_id: Type.Union([Type.String(), Type.Null()], { description: 'Of the turn of a charge. Null after erasure.' }),
  }),
)
