/**
 * A data folder with much history, written directly into its tables as the service would have left it: turns in every state, erased turns,
 * texts in many scripts, amounts above 2^53, a knowledge base. Every invariant holds.
 */
import { createHash, randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { SQLInputValue } from 'node:sqlite'
import { replyFinishReasons } from '../../src/finish-reason.ts'
import { createKnowledge } from '../../src/agent/knowledge/knowledge.ts'
import { tokenBound } from '../../src/agent/tokens.ts'
import { createIds } from '../../src/ids.ts'
import { cost } from '../../src/ledger/ledger.ts'
import { databaseFile } from '../../src/store/sqlite/database.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { plainPrice, plainTokens } from './token-kinds.ts'

export type FillOptions = {
  turns: number
  /** The last ones of these are still running, as if their process had been killed. */
  running?: number
}

const dayMs = 24 * 60 * 60 * 1000
const owners = 3
const turnsOfConversation = 20
// Null: from before there were any.
const finishReasons = [...replyFinishReasons, null]
// Text that a wrong encoding, escape or order would change.
const texts = [
  'When will my parcel arrive? It was sent on Monday.',
  'Größe 42, bitte — “genau so”, nicht kleiner.',
  '退款需要多长时间？我已经等了三天。',
  'emoji 🤹🏽‍♀️ and a flag 🇺🇳, a null glyph ␀ and a replaced character \u{fffd}',
  String.raw`C:\new\table \x41 \\u0041 {"a": [1, "\n"]} '; drop table turns; --`,
  'line\nline\r\nline\ttab \u{1} \u{7f} \u{2028} end ',
  `${'A long answer in several sentences, as models like to give. '.repeat(12)}`,
]

/** `folder` exists and has no database yet. */
export async function fillStore(folder: string, { turns, running = 0 }: FillOptions): Promise<void> {
  const store = await openSqliteStore({ folder })
  await store.close()
  const db = new DatabaseSync(databaseFile(folder))
  try {
    db.exec('pragma synchronous = off; begin')
    write(db, turns, running)
    db.exec('commit')
  } finally {
    db.close()
  }
  const knowing = await openSqliteStore({ folder })
  const knowledge = createKnowledge({ store: knowing })
  const agentId = String((await knowing.read.listAgents({}, { limit: 1, before: { createdAt: 2 ** 53, id: '' } }))[0]!.id)
  for (let document = 0; document < 20; document++) {
    const text = `# Guide ${document}\n\n## Returns\n${texts[2]}\n\n## Parcels\n${texts[6]}\n\n${texts[document % texts.length]}`
    await knowledge.index({ documentId: `doc_${document}`, agentId, title: `Guide ${document}`, text })
  }
  // Another uploaded document that is being reindexed: its previous generation still exists, and so does a vector.
  const uploaded = {
    id: 'doc_0',
    agentId,
    title: 'Guide 0',
    source: 'file',
    mediaType: 'text/plain',
    fileName: 'a.txt',
    url: null,
  } as const
  await knowing.write.putContentPart({ contentId: 'cnt_0', part: 0, bytes: randomBytes(3000) })
  for (const language of [null, undefined]) {
    await knowing.write.putDocument({ ...uploaded, contentId: 'cnt_0', bytes: 3000 })
    const { fence } = (await knowing.write.claimDocument({ holder: 'filled', leaseMs: 1000 }))!
    const chunks = [{ headings: 'Returns › 退款', text: texts[2]!, vector: Float32Array.from([3, 4]) }]
    await knowing.write.addChunks({ documentId: 'doc_0', fence, title: 'Guide 0', from: 0, chunks })
    const finished = { documentId: 'doc_0', fence, title: 'Guide 0', bytes: 3000, chunks: 1, embeddingModel: 'p/m' }
    if (language === null) await knowing.write.finishDocument({ ...finished, language })
  }
  await knowing.close()
  // A start ends all leases; what a killed process leaves has one.
  const left = new DatabaseSync(databaseFile(folder))
  left.exec(`update turns set lease_until = ${Date.now() + 15_000} where state = 'running'`)
  left.close()
}

function write(db: DatabaseSync, turns: number, running: number): void {
  const { newId, newRequestId } = createIds()
  const insert = (table: string, columns: string): ((...values: SQLInputValue[]) => void) => {
    const places = columns.split(', ').map(() => '?')
    const statement = db.prepare(`insert into ${table} (${columns}) values (${places.join(', ')})`)
    return (...values) => void statement.run(...values)
  }
  const begin = Date.now() - 30 * dayMs
  const price = plainPrice(15_000_000n, 60_000_000n)

  const session = insert('console_sessions', 'digest, id, method, created_at, expires_at')
  session(randomBytes(32), newId('ses'), 'admin_token', begin, begin + dayMs / 2)
  const provider = insert('providers', 'id, name, kind, base_url, sealed_api_key, created_at, updated_at')
  provider(newId('prv'), 'scripted', 'openai-compatible', 'http://127.0.0.1:9/v1', randomBytes(64), begin, begin)
  const owner = insert('owners', 'id, name, created_at')
  const ledger = insert('ledger', 'id, owner_id, kind, amount, written_off, request_id, idempotency_key, note, created_at')
  const agent = insert('agents', 'id, owner_id, version, enabled, created_at, updated_at, deleted_at')
  const version = insert(
    'agent_versions',
    `agent_id, version, name, model, config, fixed_tokens, history_max_tokens, knowledge_max_tokens, max_output_tokens,
    max_message_length, prompt_price, completion_price, created_at`.replace(/\s+/g, ' '),
  )
  const key = insert('api_keys', 'id, key_id, agent_id, name, permission, rate_limit, rate_window_seconds, created_at, last_used_at')
  const secret = insert('api_key_secrets', 'digest, api_key_id, created_at, expires_at')
  const audit = insert('audit', 'id, who, author_id, author_name, verb, noun, subject_id, fields, changes, request_id, created_at')
  const conversation = insert(
    'conversations',
    'id, api_key_id, external_user_id, message_count, message_tokens, created_at, last_message_at',
  )
  const turn = insert(
    'turns',
    `request_id, api_key_id, idempotency_key, fingerprint, conversation_id, owner_id, agent_id, agent_version, state, run, attempt, fence,
    lease_until, hold, prompt_price, completion_price, message, message_tokens, failure_code, failure_cause, prompt_tokens,
    cached_prompt_tokens, cache_write_tokens, completion_tokens, reasoning_tokens, usage_estimated, charged, first_delta_ms, finish_reason, erased_at, created_at, started_at, ended_at, continues_from`.replace(
      /\s+/g,
      ' ',
    ),
  )
  const message = insert('messages', 'id, conversation_id, seq, role, content, tokens, citations, request_id, created_at')
  const journal = insert('journal', 'request_id, run, step, part, kind, payload, created_at')
  const turnError = insert('turn_errors', 'request_id, run, cause_kind, ended_at')
  const trace = insert('traces', 'request_id, run, content')
  const feedback = insert('feedback', 'request_id, agent_id, rating, comment, tags, created_at, updated_at')

  const changes = '{"name":{"before":null,"after":"Agent"}}'
  const callers = Array.from({ length: owners }, (_, index) => {
    const caller = { ownerId: newId('own'), agentId: newId('agt'), keyId: newId('key'), balance: 0n, held: 0n }
    owner(caller.ownerId, `Owner ${index} ${texts[index]}`, begin)
    // More than a JSON number represents exactly.
    caller.balance = 90_071_992_547_409_931n + BigInt(index)
    ledger(newId('led'), caller.ownerId, 'credit', caller.balance + 7n, 0, null, `top-up ${index}`, texts[index]!, begin)
    ledger(newId('led'), caller.ownerId, 'adjustment', -7n, 0, null, null, null, begin + 1)
    agent(caller.agentId, caller.ownerId, 2, 1, begin, begin + 5, index === 2 ? begin + 9 : null)
    for (const number of [1, 2]) {
      const config = JSON.stringify({ systemPrompt: texts[number] })
      const { promptPerMillion, completionPerMillion } = price
      version(
        caller.agentId,
        number,
        'Agent',
        'scripted/m',
        config,
        30,
        8000,
        1500,
        2048,
        32_000,
        promptPerMillion,
        completionPerMillion,
        begin,
      )
    }
    key(caller.keyId, `key${String(index).padStart(13, '0')}`, caller.agentId, null, 'full', 120, 60, begin, begin + index)
    secret(randomBytes(32), caller.keyId, begin, null)
    secret(randomBytes(32), caller.keyId, begin, begin + dayMs)
    audit(newId('aud'), 'operator', newId('opr'), 'Kim', 'create', 'agent', caller.agentId, '["name"]', changes, newRequestId(), begin)
    return caller
  })

  const spanMs = Math.max(1, Math.floor((30 * dayMs) / turns))
  const grow = db.prepare('update conversations set message_count = ?, message_tokens = ?, last_message_at = ? where id = ?')
  const conversations = Math.ceil(turns / turnsOfConversation)
  for (let number = 0; number < conversations; number++) {
    const caller = callers[number % owners]!
    const conversationId = newId('conv')
    const first = number * turnsOfConversation
    const many = Math.min(turnsOfConversation, turns - first)
    // Each is the last one of a conversation, because a conversation has at most one running turn.
    const runs = conversations - number <= running
    const gone = !runs && number % 25 === 24
    const user = gone ? null : `user ${number} ${texts[number % texts.length]!.slice(0, 40)}`
    conversation(conversationId, caller.keyId, user, 0, 0, begin + first * spanMs, null)
    let seq = 0
    let tokens = 0
    let last: number | null = null
    for (let index = first; index < first + many; index++) {
      const at = begin + index * spanMs
      const requestId = newRequestId()
      const isRunning = runs && index === first + many - 1
      const state = isRunning ? 'running' : index % 50 === 7 ? 'failed' : index % 50 === 13 ? 'released' : 'completed'
      const text = `${index}: ${texts[index % texts.length]}`
      const reply = `${texts[(index + 3) % texts.length]} (${index})`
      const kinds = { cachedPromptTokens: index % 40, cacheWriteTokens: index % 20, reasoningTokens: index % 10 }
      const usage = { ...plainTokens(400 + (index % 90), 20 + (index % 300)), ...kinds }
      const writtenOff = index % 1000 === 500 ? 3n : 0n
      const charged = state === 'completed' ? cost(usage, price) - writtenOff : null
      const hold = isRunning ? 5_000_000n : 0n
      const run = state === 'released' ? 2 : 1
      const continuesFrom = state === 'released' && !gone ? 1 : null
      const fingerprint = gone ? Buffer.alloc(32) : createHash('sha256').update(text).digest()
      const failure = state === 'failed' ? 'internal_error' : state === 'released' ? 'service_unavailable' : null
      const figures =
        charged === null
          ? Array.from({ length: 9 }, () => null)
          : [
              usage.promptTokens,
              usage.cachedPromptTokens,
              usage.cacheWriteTokens,
              usage.completionTokens,
              usage.reasoningTokens,
              index % 2,
              charged,
              30,
              finishReasons[index % finishReasons.length]!,
            ]
      const recordKey = gone || index % 3 === 0 ? null : `order ${index}`
      const cause = failure && !gone ? `a cause: ${texts[1]}` : null
      const before = [
        requestId,
        caller.keyId,
        recordKey,
        fingerprint,
        conversationId,
        caller.ownerId,
        caller.agentId,
        2,
        state,
        run,
        1,
        run,
      ]
      const lease = [isRunning ? at + 15_000 : null, hold, price.promptPerMillion, price.completionPerMillion]
      const said = [gone ? null : text, tokenBound(text), failure, cause]
      turn(...before, ...lease, ...said, ...figures, gone ? at + 5000 : null, at, at, isRunning ? null : at + 1000, continuesFrom)
      if (continuesFrom !== null) journal(requestId, 1, 1, 1, 'tool_finished', JSON.stringify({ text: texts[4] }), at)
      if (isRunning) journal(requestId, 1, 1, 0, 'model', JSON.stringify({ text: texts[3] }), at)
      if (failure) for (let ended = 1; ended <= run; ended++) turnError(requestId, ended, 'provider_503', at + ended)
      caller.held += hold
      if (charged === null) continue
      ledger(newId('led'), caller.ownerId, 'charge', -charged, writtenOff, requestId, null, null, at + 1000)
      caller.balance -= charged
      if (gone) continue
      trace(requestId, run, randomBytes(200 + (index % 7)))
      if (index % 4 === 0)
        feedback(requestId, caller.agentId, index % 8 === 0 ? 'up' : 'down', texts[2]!, JSON.stringify([texts[4]]), at, at + 1)
      const cited = index % 3 === 0 ? JSON.stringify([{ documentId: 'doc_1', title: texts[index % texts.length], section: '' }]) : null
      message(newId('msg'), conversationId, ++seq, 'user', text, tokenBound(text), null, requestId, at)
      message(newId('msg'), conversationId, ++seq, 'assistant', reply, tokenBound(reply), cited, requestId, at + 1000)
      tokens += tokenBound(text) + tokenBound(reply)
      last = at + 1000
    }
    grow.run(seq, tokens, last, conversationId)
  }
  const settle = db.prepare('update owners set balance = ?, held = ? where id = ?')
  for (const { ownerId, balance, held } of callers) settle.run(balance, held, ownerId)
  fillLimits(db, callers[0]!.agentId, begin)
  db.prepare('insert into indexing_windows values (?, ?, ?, ?)').run(callers[0]!.ownerId, begin, 1_800_000, begin + 3_600_000)
  fillWebhooks(db, begin)
  fillAccess(db, callers[0]!, begin)
}

/** Limits of an end user, and a window that began before they were set. */
function fillLimits(db: DatabaseSync, agentId: string, begin: number): void {
  const limits = JSON.stringify([{ scope: 'end_user', span: 'total', amount: 900, since: begin }])
  db.prepare('insert into end_user_limits values (?, ?, ?, ?)').run(agentId, texts[1]!, limits, begin)
  db.prepare('update agents set limited = 1 where id = ?').run(agentId)
  db.prepare(
    `insert into spending (agent_id, scope, subject, span, starts_at, earlier, spent, max_amount)
       values (?, 'end_user', ?, 'total', 0, 700, 700, 900)`,
  ).run(agentId, texts[1]!)
}

/** A webhook that listened to one turn only. */
function fillWebhooks(db: DatabaseSync, begin: number): void {
  db.prepare(
    `insert into webhooks (id, url, events, description, include_messages, enabled, sealed_secret, listening_since, created_at, updated_at)
       values ('whk_1', 'https://hooks.example/', '["*"]', ?, 1, 0, ?, ?, ?, ?)`,
  ).run(texts[2]!, randomBytes(60), begin, begin, begin)
  db.exec(`insert into events (id, type, subject, owner_id, agent_id, occurred_at)
      select 'evt_' || request_id || '_turn_completed', 'turn.completed', request_id, owner_id, agent_id, ended_at
      from turns where state = 'completed' limit 1;
    insert into deliveries (event_id, webhook_id, next_at, created_at) select id, 'whk_1', occurred_at, occurred_at from events`)
}

/** An operator with a passkey, one who is invited, and a token that is restricted to an agent. */
function fillAccess(db: DatabaseSync, { ownerId, agentId }: { ownerId: string; agentId: string }, begin: number): void {
  const operator = db.prepare(
    `insert into operators (id, email, name, role, permissions, owner_id, state, password_hash, created_at, updated_at, last_sign_in_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  operator.run('opr_1', 'kim@example.com', texts[1]!, 'viewer', '["conversations"]', ownerId, 'active', '$scrypt$', begin, begin, begin + 1)
  operator.run('opr_2', 'lee@example.com', texts[2]!, 'admin', '[]', null, 'invited', null, begin, begin, null)
  db.prepare('insert into passkeys values (?, ?, ?, ?, ?, ?, ?, ?)').run(
    'cGFzc2tleQ',
    'opr_1',
    texts[3]!,
    randomBytes(77),
    4_000_000_000,
    '["internal"]',
    begin,
    null,
  )
  db.prepare('insert into admin_tokens values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
    'tok_1',
    randomBytes(32),
    texts[4]!,
    'billing',
    '[]',
    ownerId,
    agentId,
    begin,
    begin + dayMs,
    null,
    begin + 1,
  )
  const audit = db.prepare(
    `insert into audit (id, who, verb, noun, subject_id, fields, request_id, created_at) values (?, 'admin_token', 'create', ?, ?, '[]', 'r', ?)`,
  )
  for (const id of ['opr_1', 'opr_2', 'tok_1']) audit.run(`aud_${id}`, id.startsWith('opr') ? 'operator' : 'token', id, begin)
}
