/** The examples in /admin/v1/openapi.json of ledgers, usage by group and end users: the installation of examples.ts. */
import { exampleId } from '../public/answers.ts'

const owner = 'own_01jd3v9qk8x2m5n7p4r6t8w0ya'
const agent = 'agt_01jd3v9qk8x2m5n7p4r6t8w0yc'
const key = 'key_01jd3v9qk8x2m5n7p4r6t8w0ye'
const conversation = 'conv_01jd3v9qk8x2m5n7p4r6t8w0yb'
const asked = '2026-11-21T14:11:57.104Z'
const answered = '2026-11-21T14:11:58.332Z'

export const reportExamples: Record<string, object> = {
  ListedLedgerEntry: {
    id: 'led_01jd3v9qk8x2m5n7p4r6t8w0ym',
    owner_id: owner,
    kind: 'charge',
    amount_usd: '-0.00039000',
    written_off_usd: '0.00000000',
    request_id: exampleId,
    note: null,
    created_at: answered,
    agent_id: agent,
    key_id: key,
    conversation_id: conversation,
    external_user_id: 'customer-4711',
  },
  UsageLine: {
    month: '2026-11',
    day: null,
    owner_id: owner,
    owner_name: 'Example Shop',
    agent_id: agent,
    agent_name: 'Support',
    key_id: null,
    key_name: null,
    external_user_id: null,
    erased_conversation_id: null,
    turns: 43,
    completed: 40,
    failed: 1,
    released: 1,
    cancelled: 1,
    prompt_tokens: 16_480,
    completion_tokens: 720,
    charged_usd: '0.01560000',
    written_off_usd: '0.00000000',
    unpaid_usd: '0.00039000',
  },
  EndUser: {
    external_user_id: 'customer-4711',
    spent_usd: '0.00390000',
    turns: 11,
    feedback: { up: 1, down: 0 },
    last_activity_at: answered,
  },
  EndUserDetail: {
    agent_id: agent,
    external_user_id: 'customer-4711',
    spend: {
      day: { spent_usd: '0.00039000', turns: 1 },
      month: { spent_usd: '0.00390000', turns: 11 },
      total: { spent_usd: '0.01560000', turns: 40 },
    },
    last_activity_at: answered,
    feedback: { up: 3, down: 1 },
    conversations: [{ id: conversation, key_id: key, created_at: asked, last_message_at: answered, message_count: 78 }],
  },
}
