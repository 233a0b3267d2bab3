/**
 * A small client and its driver in one, written from clients/README.md alone: correct as it is, and wrong in the one way that its argument
 * names. It proves that the scenarios can fail, and shows how small a driver is. Not for production: it has no signals, timeouts or retry
 * limits.
 */
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { setTimeout as pass } from 'node:timers/promises'

type Fields = Record<string, unknown>
type End = { kind: 'completed'; reply: Fields } | { kind: 'error'; error: Fields } | { kind: 'broken' }

const flaw = process.argv[2]
const [line] = await Array.fromAsync(createInterface({ input: process.stdin }))
const order = JSON.parse(line ?? '') as Record<string, string>
const given = order['idempotency_key'] ?? randomUUID()
const comeBack = new Set([
  'service_unavailable',
  'api_rate_limit_unavailable',
  'rate_limit_exceeded',
  'conversation_busy',
  'idempotency_in_progress',
  ...(flaw === 'retries-conflict' ? ['idempotency_conflict'] : []),
])
const kinds: Record<number, string> = { 409: 'ConflictError', 422: 'ValidationError' }
let created = false
/** What this program has printed since the last reset. */
let shown = ''

const print = (event: string, fields: Fields): void => console.log(JSON.stringify({ event, ...fields }))

/** Only the new part of an attempt's text is printed. */
function show(text: string): void {
  if (order['call'] === 'chat' || (shown.startsWith(text) && flaw !== 'delta-twice')) return
  const rest = text.startsWith(shown) ? text.slice(shown.length) : undefined
  if (rest === undefined && flaw !== 'no-reset') print('reset', {})
  print('delta', { delta: rest ?? text })
  shown = text
}

async function attempt(idempotencyKey: string): Promise<End> {
  const response = await fetch(`${order['base_url']}/v1/agents/${order['agent_id']}/${order['call'] === 'chat' ? 'chat' : 'chat/stream'}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${order['api_key']}`, 'idempotency-key': idempotencyKey, 'content-type': 'application/json' },
    body: JSON.stringify({ external_user_id: order['external_user_id'], message: order['message'] }),
    redirect: flaw === 'follows-redirects' ? 'follow' : 'manual',
  })
  if (response.status === 307 || (flaw === 'gives-up' && response.status === 502))
    return { kind: 'error', error: { status: response.status } }
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const json = (await response.json()) as Fields
    if (response.ok) return { kind: 'completed', reply: json }
    const wait = response.headers.get('retry-after')
    return {
      kind: 'error',
      error: { ...(json['error'] as Fields), status: response.status, ...(wait ? { retry_after: Number(wait) } : {}) },
    }
  }
  let [text, rest] = ['', '']
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + piece).split('\n\n')
    rest = events.pop() ?? ''
    for (const [, name, data] of events.map((event) => /^event: (.*)\nid: .*\ndata: (.*)$/.exec(event) ?? [])) {
      const fields = JSON.parse(data ?? '{}') as Fields
      if (name === 'response.completed') return { kind: 'completed', reply: fields }
      if (name === 'error') return { kind: 'error', error: { ...fields, status: 200 } }
      if (name === 'response.created' && !created) print('created', fields)
      created = true
      if (name !== 'response.output_text.delta') continue
      text += String(fields['delta'])
      if (flaw === 'delta-twice') print('delta', { delta: fields['delta'] })
      else show(text)
    }
  }
  return { kind: 'broken' }
}

for (let failed = 0; ; failed++) {
  const key = flaw === 'new-key' && failed > 0 ? randomUUID() : given
  const end = await attempt(key).catch((): End => ({ kind: 'broken' }))
  if (end.kind === 'completed') {
    const { content } = end.reply['message'] as { content: string }
    if (flaw !== 'delta-twice' && flaw !== 'no-rest') show(content)
    print('completed', end.reply)
    break
  }
  if (end.kind === 'error' && !comeBack.has(String(end.error['code']))) {
    print('error', { kind: kinds[Number(end.error['status'])] ?? 'APIError', ...end.error, idempotency_key: key })
    break
  }
  const asked = end.kind === 'error' && flaw !== 'ignores-retry-after' ? Number(end.error['retry_after'] ?? 0) : 0
  await pass(1000 * asked || 300)
  if (flaw === 'retries-conflict' && failed === 2) break
}
