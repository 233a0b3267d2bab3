/** The responses of the admin API about owners and their ledgers. */
import { AmountUsd, Count, RequestId, Time, idOf, orNull } from './answer-fields.ts'
import { ownerFields } from '../../resources/owner.ts'
import { answerProperties, exampleOf } from './wire.ts'
import { exampleId } from '../public/answers.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

export const Owner = define('Owner', Type.Object(answerProperties(ownerFields)))

export const OwnerWithHolds = define(
  'OwnerWithHolds',
  Type.Object({
    ...answerProperties(ownerFields),
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
    indexing: Type.Object(
      {
        queued_documents: Count,
        max_queued_documents: Count,
        cpu_seconds: Type.Number({ minimum: 0, description: 'CPU time that reading documents took in the current window of an hour.' }),
        max_cpu_seconds: Type.Number({ minimum: 0 }),
        waits_until: Type.Union([Time, Type.Null()], {
          description: 'When documents are indexed again, if the CPU time of the window is used up. Null otherwise.',
        }),
      },
      { description: 'The documents of all agents of this owner that wait to be indexed, and their limits.' },
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

const owner = 'own_01jd3v9qk8x2m5n7p4r6t8w0ya'
const morning = '2026-11-21T09:00:00.000Z'

export const ownerExamples = {
  Owner: exampleOf(ownerFields),
  OwnerWithHolds: {
    ...exampleOf(ownerFields),
    held_usd: '0.00120000',
    available_usd: '9.99802000',
    running_turns: [
      {
        request_id: exampleId,
        agent_id: 'agt_01jd3v9qk8x2m5n7p4r6t8w0yc',
        key_id: 'key_01jd3v9qk8x2m5n7p4r6t8w0ye',
        external_user_id: 'customer-42',
        held_usd: '0.00120000',
        started_at: '2026-11-21T14:11:57.104Z',
      },
    ],
    indexing: { queued_documents: 3, max_queued_documents: 2000, cpu_seconds: 41.5, max_cpu_seconds: 1800, waits_until: null },
  },
  LedgerEntry: {
    id: 'led_01jd3v9qk8x2m5n7p4r6t8w0yg',
    owner_id: owner,
    kind: 'credit',
    amount_usd: '10.00000000',
    written_off_usd: '0.00000000',
    request_id: null,
    note: 'Invoice 2026-0117',
    created_at: morning,
  },
}
