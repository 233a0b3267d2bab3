/**
 * Requests for every operation of the admin API, as a principal that is restricted to the owner of `own` sends them. `of` is what they name:
 * things of another party, things that do not exist, or its own (`operator.scope`).
 */
import type { Ids } from './isolation-scene.ts'
import type { Json } from './test-app.ts'

export type Request = { path?: Record<string, string>; query?: Record<string, string>; body?: Json; headers?: Record<string, string> }
export type Recipe = (of: Ids, own: Ids) => Request[]

const csv = { accept: 'text/csv' }
const url = 'https://hook.example/'
const day = 24 * 60 * 60 * 1000
const lastDay = { from: new Date(Date.now() - day).toISOString(), to: new Date(Date.now() + day).toISOString() }
const limits = { spend_limits: [{ scope: 'end_user', usd: '2', window: 'day' }] }
const text = { title: 'a title', text: 'Some words are found.' }
const newAgent = { name: 'an agent', system_prompt: 'p', model: 'demo/demo' }

const nothing: Recipe = () => [{}]
const byId =
  (name: keyof Ids, more: Omit<Request, 'path'> = {}): Recipe =>
  (of) => [{ path: { id: of[name] }, ...more }]
/** Those that name an agent and something else also name the caller's own agent, with what is another's. */
const inAgents =
  (requests: (agent: string, of: Ids) => Request[]): Recipe =>
  (of, own) =>
    of.agent === own.agent ? requests(own.agent, own) : [...requests(of.agent, of), ...requests(own.agent, of), ...requests(of.agent, own)]
const ofDocument = (name: 'document' | 'spareDocument', more: Omit<Request, 'path'> = {}): Recipe =>
  inAgents((id, of) => [{ path: { id, document_id: of[name] }, ...more }])
const ofUser =
  (name: 'user' | 'spareUser'): Recipe =>
  (of) => [{ path: { id: of.agent }, query: { external_user_id: of[name] } }]
const ofTurns =
  (more: Omit<Request, 'path'> = {}): Recipe =>
  (of) =>
    [of.turn, of.failedTurn, of.runningTurn].map((id) => ({ path: { request_id: id }, ...more }))
/** No response to a request about its own ends before the turn does. */
const ofRunning: Recipe = (of, own) => (of.runningTurn === own.runningTurn ? [] : [{ path: { request_id: of.runningTurn } }])
const ofEnded =
  (more: Omit<Request, 'path'> = {}): Recipe =>
  (of) =>
    [of.turn, of.failedTurn].map((id) => ({ path: { request_id: id }, ...more }))

/** One request for each filter, one with all of them, and one without any. */
const filters =
  (names: Record<string, (of: Ids) => string>, more: Request = {}): Recipe =>
  (of) => {
    const all = Object.entries(names).map(([name, value]) => ({ [name]: value(of) }))
    return [...all, Object.assign({}, ...all), {}].map((query) => ({ ...more, query: { ...more.query, ...query } }))
  }
const both =
  (...recipes: Recipe[]): Recipe =>
  (of, own) =>
    recipes.flatMap((recipe) => recipe(of, own))

const reported = {
  owner_id: (of: Ids) => of.owner,
  agent_id: (of: Ids) => of.agent,
  key_id: (of: Ids) => of.key,
  external_user_id: (of: Ids) => of.user,
}
const byPublicKey = { key_id: (of: Ids) => of.publicKey, external_user_id: () => 'ann' }
const { owner_id: _, ...ofOwner } = reported
const ownerLedger = (of: Ids, headers: Record<string, string>): Request[] =>
  [...filters(ofOwner)(of, of), ...filters(byPublicKey)(of, of), { query: { kind: 'charge' } }].map((one) => ({
    ...one,
    path: { id: of.owner },
    headers,
  }))

/** In the order in which a principal can send them about its own data: what deletes something comes last. */
export const recipes: Record<string, Recipe> = {
  'GET /me': nothing,
  'GET /me/sessions': nothing,
  'GET /me/passkeys': nothing,
  'GET /owners': nothing,
  'GET /owners/{id}': byId('owner'),
  'GET /owners/{id}/ledger': (of) => [...ownerLedger(of, {}), ...ownerLedger(of, csv)],
  'GET /ledger': both(
    filters(reported),
    filters(reported, { query: { kind: 'charge' } }),
    filters(reported, { headers: csv }),
    filters(byPublicKey),
  ),
  'GET /usage': both(
    filters(reported),
    filters(byPublicKey),
    filters(reported, { query: { group_by: 'owner,agent,api_key,end_user,day' } }),
    filters(reported, { query: { group_by: 'owner' } }),
    filters(reported, { query: { group_by: 'end_user' }, headers: csv }),
    filters(byPublicKey, { query: { group_by: 'api_key' } }),
  ),
  'GET /providers': nothing,
  'GET /providers/{id}': byId('provider'),
  'GET /providers/{id}/models': byId('provider'),
  'GET /models/price': () => [{ query: { model: 'scripted/test-model' } }],
  'GET /agents': nothing,
  'GET /agents/{id}': both(byId('agent'), byId('spareAgent')),
  'GET /agents/{id}/versions': byId('agent'),
  'GET /agents/{id}/prices': byId('agent'),
  'GET /agents/{id}/documents': (of) => [{ path: { id: of.agent } }, { path: { id: of.agent }, query: { status: 'ready' } }],
  'GET /agents/{id}/documents/{document_id}': ofDocument('document'),
  'GET /agents/{id}/documents/{document_id}/chunks': ofDocument('document'),
  'POST /agents/{id}/search': both(byId('agent', { body: { query: 'words' } }), byId('agent', { body: { query: 'words', limit: 5 } })),
  'GET /agents/{id}/spending': byId('agent'),
  'GET /agents/{id}/end-users': both(byId('agent'), byId('agent', { query: { sort: 'last_activity', window: 'total' } })),
  'GET /agents/{id}/end-users/detail': both(ofUser('user'), (of) => [{ path: { id: of.agent }, query: { external_user_id: 'ann' } }]),
  'GET /agents/{id}/end-users/export': both(ofUser('user'), (of) => [{ path: { id: of.agent }, query: { external_user_id: 'ann' } }]),
  'GET /agents/{id}/end-users/limits': both(ofUser('user'), (of) => [{ path: { id: of.agent }, query: { external_user_id: 'ann' } }]),
  'GET /agents/{id}/keys': byId('agent'),
  'GET /conversations': both(
    filters({ agent_id: (of) => of.agent, key_id: (of) => of.key, external_user_id: (of) => of.user }),
    filters(byPublicKey),
    filters({ agent_id: (of) => of.agent, q: (of) => of.user.slice(0, 11) }, { query: { excerpts: 'true' } }),
    filters({ agent_id: (of) => of.agent, rating: () => 'down' }),
    ...['running', 'completed', 'failed'].map((status) => filters({ agent_id: (of) => of.agent }, { query: { status } })),
  ),
  'GET /conversations/{id}': both(byId('conversation'), byId('spareConversation')),
  'GET /conversations/{id}/messages': byId('conversation'),
  'GET /turns': both(
    filters({ agent_id: (of) => of.agent, conversation_id: (of) => of.conversation, trace_id: (of) => of.trace }),
    ...['running', 'completed', 'failed', 'released', 'cancelled'].map((status) =>
      filters({ agent_id: (of) => of.agent }, { query: { status } }),
    ),
  ),
  'GET /turns/{request_id}': ofTurns(),
  'GET /turns/{request_id}/trace': ofTurns(),
  'GET /turns/{request_id}/stream': both(ofEnded(), ofEnded({ query: { after: 'end' } }), ofRunning),
  'POST /turns/{request_id}/rerun': ofEnded({ body: { overrides: { message: 'again' } } }),
  'GET /feedback': both(
    filters({ agent_id: (of) => of.agent, tag: (of) => `${of.user.slice(0, 11)} tag` }),
    filters({ tag: () => 'slow' }),
  ),
  'GET /webhooks': nothing,
  'GET /webhooks/{id}': both(byId('webhook'), byId('spareWebhook')),
  'GET /webhooks/{id}/deliveries': both(byId('webhook'), byId('spareWebhook'), byId('webhook', { query: { status: 'delivered' } })),
  'GET /attention': nothing,
  'GET /webhooks/{id}/deliveries/{delivery_id}': (of, own) => [
    { path: { id: of.webhook, delivery_id: of.delivery } },
    { path: { id: own.webhook, delivery_id: of.delivery } },
  ],
  'GET /status': nothing,
  'GET /audit': filters({
    who: () => 'token',
    author_id: (of) => of.token,
    verb: () => 'create',
    noun: () => 'agent',
    subject_id: (of) => of.agent,
  }),
  'GET /operators': nothing,
  'GET /operators/{id}': byId('operator'),
  'GET /tokens': nothing,
  'GET /tokens/{id}': byId('token'),
  'GET /session': nothing,

  'PATCH /me': () => [{ body: { name: 'n' } }],
  'PUT /me/password': () => [{ body: { new_password: 'a long password of no one' } }],
  'POST /me/passkeys/options': nothing,
  'POST /me/passkeys': () => [{ body: { name: 'n', response: {} } }],
  'DELETE /me/passkeys/{id}': () => [{ path: { id: 'psk_x' } }],
  'DELETE /me/sessions/{id}': () => [{ path: { id: 'ses_x' } }],
  'POST /owners': () => [{ body: { name: 'n', balance_usd: '1' } }],
  'PATCH /owners/{id}': byId('owner', { body: { name: 'n' } }),
  'POST /owners/{id}/ledger': byId('owner', { body: { amount_usd: '1' }, headers: { 'idempotency-key': 'isolation' } }),
  'POST /providers': () => [{ body: { name: 'n', kind: 'openai', api_key: 'k' } }],
  'PATCH /providers/{id}': (of) => [{ path: { id: of.provider }, body: { name: 'n' } }],
  'DELETE /providers/{id}': byId('provider'),
  'POST /providers/{id}/test': (of) => [{ path: { id: of.provider }, body: {} }],
  'POST /agents': (of) => [{ body: { ...newAgent, owner_id: of.owner } }],
  'PATCH /agents/{id}': both(
    byId('agent', { body: { name: 'n' } }),
    byId('agent', { body: { enabled: true } }),
    byId('agent', { body: limits }),
  ),
  'POST /agents/{id}/rollback': byId('agent', { body: { version: 1 } }),
  'POST /agents/{id}/tools/refresh': byId('agent', { body: { approve: true } }),
  'POST /agents/{id}/tools/try': byId('agent', { body: { tool: 'now', arguments: {} } }),
  'POST /agents/{id}/documents': byId('agent', { body: text }),
  'PUT /agents/{id}/documents/{document_id}': ofDocument('spareDocument', { body: text }),
  'PUT /agents/{id}/end-users/limits': (of) => [
    { path: { id: of.agent }, body: { external_user_id: of.user, ...limits } },
    { path: { id: of.agent }, body: { external_user_id: 'ann', ...limits } },
  ],
  'POST /agents/{id}/playground': byId('agent', {
    body: { message: 'hello', external_user_id: 'ann' },
    headers: { 'idempotency-key': 'isolation' },
  }),
  'POST /agents/{id}/preview': byId('agent', { body: { message: 'hello', external_user_id: 'ann', version: 1 } }),
  'POST /agents/{id}/keys': byId('agent', { body: { permission: 'full' } }),
  'PATCH /keys/{id}': byId('key', { body: { name: 'n' } }),
  'POST /keys/{id}/rotate': byId('key', { body: { grace_seconds: 60 } }),
  'POST /webhooks': (of) => [
    { body: { url, events: ['*'], owner_id: of.owner } },
    { body: { url, events: ['*'], agent_id: of.agent } },
    { body: { url, events: ['*'], owner_id: of.owner, agent_id: of.agent } },
  ],
  'PATCH /webhooks/{id}': (of, own) => [
    { path: { id: of.webhook }, body: { description: 'd' } },
    { path: { id: of.webhook }, body: { owner_id: own.owner, agent_id: own.agent } },
    ...(of.owner === own.owner ? [] : [{ path: { id: own.webhook }, body: { owner_id: of.owner } }]),
    ...(of.agent === own.agent ? [] : [{ path: { id: own.webhook }, body: { agent_id: of.agent } }]),
  ],
  'POST /webhooks/{id}/test': byId('webhook'),
  'POST /webhooks/{id}/deliveries/{delivery_id}/retry': (of, own) => [
    { path: { id: of.webhook, delivery_id: of.delivery } },
    { path: { id: own.webhook, delivery_id: of.delivery } },
  ],
  'POST /webhooks/{id}/replay': byId('webhook', { body: lastDay }),
  'POST /webhooks/{id}/rotate-secret': byId('webhook', { body: { grace_seconds: 60 } }),
  'POST /verify': nothing,
  'POST /operators': (of) => [{ body: { name: 'n', email: 'n@example.com', role: 'viewer', owner_id: of.owner } }],
  'PATCH /operators/{id}': (of) => [{ path: { id: of.operator }, body: { owner_id: of.owner } }],
  'DELETE /operators/{id}': byId('operator'),
  'POST /operators/{id}/invite': byId('operator'),
  'DELETE /operators/{id}/sessions': byId('operator'),
  'POST /tokens': (of) => [{ body: { name: 'n', role: 'viewer', owner_id: of.owner, agent_id: of.agent } }],
  'DELETE /tokens/{id}': byId('token'),

  'PUT /turns/{request_id}/feedback': ofEnded({ body: { rating: 'up', comment: 'a note', tags: ['read'] } }),
  'POST /turns/{request_id}/cancel': ofTurns(),
  'DELETE /turns/{request_id}/feedback': ofTurns(),
  'DELETE /agents/{id}/documents/{document_id}': ofDocument('spareDocument'),
  'DELETE /agents/{id}/end-users/limits': ofUser('user'),
  'DELETE /conversations/{id}': byId('spareConversation'),
  'DELETE /agents/{id}/end-users': both(ofUser('spareUser'), (of) => [{ path: { id: of.agent }, query: { external_user_id: 'ann' } }]),
  'DELETE /keys/{id}': byId('spareKey'),
  'DELETE /webhooks/{id}': byId('spareWebhook'),
  'DELETE /session': nothing,
  'DELETE /agents/{id}': byId('spareAgent'),
}
