/**
 * The examples in /admin/v1/openapi.json: a small installation of a shop with a support agent. Responses are listed by schema name; short
 * request bodies are next to their schemas. A test checks each example against its schema and sends every request body to a real server.
 */
import { calculationExample, detailsExample, priceExample as price, priceSourceExample as priceSource } from './price-examples.ts'
import { callExample as call, lookUpExample as lookUp, toolsExample as tools } from './tool-examples.ts'
import { apiKeyFields } from '../../resources/api-key.ts'
import { exampleOf } from './wire.ts'
import { exampleId } from '../public/answers.ts'
import { ownerExamples } from './owner-answers.ts'
import { webhookExamples } from './webhook-answers.ts'

const completed = { status: 'completed', state: 'completed' }
const limits = { spend_limits: [], warnings: [] }
const owner = 'own_01jd3v9qk8x2m5n7p4r6t8w0ya'
const agent = 'agt_01jd3v9qk8x2m5n7p4r6t8w0yc'
const key = 'key_01jd3v9qk8x2m5n7p4r6t8w0ye'
const conversation = 'conv_01jd3v9qk8x2m5n7p4r6t8w0yb'
const document = 'doc_01jd3v9qk8x2m5n7p4r6t8w0yf'
const morning = '2026-11-21T09:00:00.000Z'
const asked = '2026-11-21T14:11:57.104Z'
const answered = '2026-11-21T14:11:58.332Z'

const usage = { prompt_tokens: 412, completion_tokens: 18, total_tokens: 430, charged_usd: '0.00039000', estimated: false }
const source = { document_id: document, title: 'Shipping and returns', section: 'Returns › Deadlines' }

const content = {
  name: 'Support',
  system_prompt: 'You answer questions about orders. Be brief.',
  model: 'openai/gpt-5.4-mini',
  price,
  price_source: priceSource,
  max_output_tokens: 2048,
  temperature: null,
  max_steps: 8,
  max_tool_calls: 16,
  max_message_length: 32_000,
  history: { max_tokens: 8000 },
  knowledge: { max_tokens: 1500, top_k: 6, embedding_model: null, language: null },
  tools,
}

const shownKey = exampleOf(apiKeyFields)

const turn = {
  request_id: exampleId,
  conversation_id: conversation,
  external_user_id: 'customer-4711',
  owner_id: owner,
  agent_id: agent,
  agent_version: 3,
  key_id: key,
  ...completed,
  run: 1,
  attempts: 1,
  price,
  held_usd: '0.00000000',
  usage: { ...usage, ...detailsExample, tool_calls_usd: '0.00000000' },
  written_off_usd: '0.00000000',
  incomplete: false,
  finish_reason: 'stop',
  failure: null,
  first_delta_ms: 640,
  traceparent: null,
  created_at: asked,
  started_at: asked,
  cancel_requested_at: null,
  ended_at: answered,
  erased_at: null,
}

const feedback = {
  rating: 'down',
  comment: 'The order has not arrived yet.',
  tags: ['wrong-status'],
  created_at: answered,
  updated_at: answered,
}

const figures = {
  turns: 43,
  completed: 40,
  failed: 1,
  released: 1,
  cancelled: 1,
  errors: 3,
  errors_by_cause: { provider_503: 2, empty_reply: 1 },
  prompt_tokens: 16_480,
  completion_tokens: 720,
  charged_usd: '0.01560000',
  written_off_usd: '0.00000000',
  unpaid_usd: '0.00039000',
  p50_ms: 1228,
  p95_ms: 2904,
  p50_first_delta_ms: 640,
  p95_first_delta_ms: 1310,
}

export const answerExamples: Record<string, object> = {
  ...webhookExamples,
  ...ownerExamples,
  Provider: {
    id: 'prv_01jd3v9qk8x2m5n7p4r6t8w0yh',
    name: 'openai',
    kind: 'openai',
    base_url: null,
    created_at: morning,
    updated_at: morning,
  },
  ProviderTest: { ok: true, model: 'gpt-5.4-mini', latency_ms: 412 },
  Agent: { id: agent, owner_id: owner, version: 3, enabled: true, ...limits, ...content, created_at: morning, updated_at: morning },
  AgentVersion: { version: 3, ...content, created_at: morning },
  PriceOfVersion: { version: 3, price, price_source: priceSource, created_at: morning },
  PriceCalculation: calculationExample,
  ToolDifferences: {
    data: [{ server: 'warehouse', tool: 'stock', change: 'added', now: { ...lookUp, side_effects: false } }],
    unusable: [{ server: 'warehouse', name: 'count', reason: 'its description is longer than 8 KiB' }],
    version: 3,
  },
  Document: {
    id: document,
    agent_id: agent,
    title: 'Shipping and returns',
    source: 'file',
    file_name: 'shipping.md',
    media_type: 'text/markdown',
    url: null,
    status: 'ready',
    reason: null,
    progress: null,
    chunks: 7,
    warnings: [{ kind: 'pictures', count: 2, message: '2 pictures were not read. Write what they show as text.' }],
    bytes: 5210,
    source_sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    created_at: morning,
    updated_at: morning,
    indexed_at: morning,
    waits_until: null,
  },
  Chunk: { position: 0, section: 'Returns', text: 'Goods may be returned within 30 days.' },
  Passages: { data: [{ ...source, text: 'Goods may be returned within 30 days.', score: 3.11 }] },
  Key: shownKey,
  ShownKey: { api_key: 'svc_live_k7m2p9q4r8t1v5x3.an-example-and-no-secret', ...shownKey },
  StoredConversation: {
    id: conversation,
    agent_id: agent,
    key_id: key,
    external_user_id: 'customer-4711',
    created_at: asked,
    last_message_at: answered,
    message_count: 2,
  },
  ListedConversation: {
    id: conversation,
    agent_id: agent,
    key_id: key,
    external_user_id: 'customer-4711',
    created_at: asked,
    last_message_at: answered,
    message_count: 2,
    turn: {
      request_id: exampleId,
      ...completed,
      rating: 'down',
      created_at: asked,
      excerpt: { role: 'assistant', text: 'Order 4711 was sent. It may be returned within 30 days.' },
    },
  },
  StoredMessage: {
    id: 'msg_01jd3v9qk8x2m5n7p4r6t8w0ya',
    role: 'assistant',
    content: 'Order 4711 was sent. It may be returned within 30 days.',
    created_at: answered,
    request_id: exampleId,
    citations: [source],
    tool_calls: [call],
    turn: { ...completed, agent_version: 3, incomplete: false, finish_reason: 'stop', rating: 'down', usage },
  },
  Turn: turn,
  TurnWithSteps: {
    ...turn,
    price_calculation: calculationExample,
    feedback,
    steps: [
      {
        run: 1,
        step: 1,
        part: 0,
        kind: 'model',
        payload: {
          text: '',
          tool_calls: [{ name: call.name, arguments: call.arguments }],
          usage: { prompt_tokens: 180, completion_tokens: 8, ...detailsExample, estimated: false },
        },
        created_at: asked,
      },
      { run: 1, step: 1, part: 2, kind: 'tool_finished', payload: call, created_at: asked },
    ],
  },
  StoredFeedback: { request_id: exampleId, ...feedback },
  Feedback: {
    request_id: exampleId,
    agent_id: agent,
    conversation_id: conversation,
    external_user_id: 'customer-8812',
    key_id: key,
    ...completed,
    message: 'Where is order 4711?',
    reply: 'Order 4711 was sent. It may be returned within 30 days.',
    ...feedback,
  },
  Erased: { conversations: 1, turns: 3, messages: 6 },
  UsageReport: { data: [{ bucket_start: '2026-11-21T00:00:00.000Z', ...figures }], totals: figures },
  AuditEntry: {
    id: 'aud_01jd3v9qk8x2m5n7p4r6t8w0yk',
    who: 'admin_token',
    author_id: null,
    author_name: null,
    verb: 'change',
    noun: 'agent',
    subject_id: agent,
    fields: ['system_prompt'],
    changes: { system_prompt: { before: 'Answer briefly.', after: 'Answer briefly, and name your source.' } },
    request_id: exampleId,
    created_at: morning,
  },
  Session: { expires_at: '2026-11-21T21:00:00.000Z', version: '1.0.0', api_url: null },
  Status: {
    version: '1.0.0',
    node: 'v24.21.0',
    started_at: morning,
    draining: false,
    store: { kind: 'sqlite', state: 'ok' },
    limiter: { kind: 'memory', state: 'ok' },
    workers: 1,
    process: { rss_bytes: 121_634_816, event_loop_p99_ms: 11.2 },
    turns: { running: 2, most: 1000, waiting: { admission: 0, advance: 0, settlement: 0, failure: 0 } },
    documents: { queued: 3, indexing: 1 },
    counted: {
      completed: 40,
      errors: 3,
      failed: 1,
      released: 1,
      cancelled: 1,
      lost: 0,
      replayed: 3,
      recovered: 0,
      refused: 5,
      model_retries: 2,
    },
  },
  Verification: {
    ok: true,
    verified_at: morning,
    ms: 38,
    invariants: [
      { id: 'I1', name: 'balance-is-ledger-sum', sentence: "An owner's balance is the sum of the owner's ledger.", ok: true, rows: [] },
    ],
  },
  ToolTrial: { result: '{"status":"sent"}', is_error: false, ms: 84 },
  ProviderModels: {
    ok: true,
    data: [
      { id: 'gpt-5.4-mini', price, context_tokens: 400_000 },
      { id: 'gpt-image-1', price: null, context_tokens: null },
    ],
  },
  ModelPrice: { model: 'openai/gpt-5.4-mini', price, price_source: priceSource, context_tokens: 400_000 },
}

/** A request body. It refers to the owner and the provider of the other examples. */
export const newAgentExample = {
  owner_id: owner,
  name: content.name,
  system_prompt: content.system_prompt,
  model: content.model,
  price: { prompt_usd_per_million: '0.75', completion_usd_per_million: '4.50' },
  tools: [
    {
      type: 'http',
      ...lookUp,
      method: 'GET',
      url: 'https://shop.example/orders/{number}',
      headers: { 'X-Shop-Token': 'the-token-of-the-shop' },
      side_effects: false,
    },
    { type: 'builtin', name: 'now' },
  ],
}
