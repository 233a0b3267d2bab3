/** Webhooks: the operator's endpoints. Their secrets are handled only in encrypted form. */
import { columnsOf, insertRow, rowReader, updateRow } from '../rows.ts'
import { webhookFields } from '../../../resources/webhook.ts'
import type { GivenWebhook, Webhook, WebhookChange } from '../../../resources/webhook.ts'
import type { Row, Sql, SqlValue } from '../../sql.ts'
import { bytes, integer, integerOrNull, text } from '../columns.ts'
import type { PageRequest } from '../paging.ts'
import { Values } from '../reported-turns.ts'
import { isAgentOf } from '../scope-of.ts'
import { read, serviceWrite, write } from '../operation.ts'
import { instead, withinScope } from '../scope.ts'
import type { Within } from '../scope.ts'
import { auditedOf, changed, created, deleted, differing, when } from '../audited-fields.ts'

/** As it is stored: with its secrets, in encrypted form. */
export type StoredWebhook = Omit<Webhook, 'previousSecretExpiresAt'> & {
  sealedSecret: Uint8Array
  /** Those that sign as well, until their grace periods end. The newest is first. */
  oldSecrets: OldSecret[]
}

export type OldSecret = { sealed: Uint8Array; until: number }

export type NewWebhook = GivenWebhook & Pick<StoredWebhook, 'id' | 'sealedSecret'>

/**
 * `owner_not_found`, `agent_not_found`: the webhook is for an owner or an agent that does not exist. `agent_of_another`: its agent belongs to
 * another owner than its owner, so it would never get an event. `too_wide`: it would also get events of others than those that the caller is
 * restricted to (`operator.scope`).
 */
export type WebhookOutcome =
  | { kind: 'stored'; webhook: StoredWebhook }
  | { kind: 'not_found' }
  | { kind: 'owner_not_found' }
  | { kind: 'agent_not_found' }
  | { kind: 'agent_of_another' }
  | TooWide
  | { kind: 'too_many'; limit: number }

/** `needs`: the fields of which one must be set. */
type TooWide = { kind: 'too_wide'; needs: 'owner_id or agent_id' | 'agent_id' }

/** Each event is compared with all of them. */
const maxWebhooks = 100
/** Of those that a restricted principal sees: one owner must not use up what all of them share. */
const maxWebhooksWithin = 10

/** `within`: here and below, of a restricted principal (`operator.scope`). For it, a webhook that it does not see does not exist. */
async function createWebhook(sql: Sql, given: NewWebhook, within?: Within): Promise<WebhookOutcome> {
  const unknown = await findUnknown(sql, given, within)
  if (unknown) return unknown
  if (within && (await countWebhooks(sql, { ...within, agentId: null })) >= maxWebhooksWithin)
    return { kind: 'too_many', limit: maxWebhooksWithin }
  if ((await countWebhooks(sql)) >= maxWebhooks) return { kind: 'too_many', limit: maxWebhooks }
  const since = await stopRecording(sql)
  const { sealedSecret, ...fields } = given
  const now = await sql.now()
  await insertRow(
    sql,
    'webhooks',
    webhookFields,
    { ...fields, createdAt: now, updatedAt: now },
    { sealed_secret: sealedSecret, listening_since: since },
  )
  return { kind: 'stored', webhook: (await findWebhook(sql, given.id))! }
}

async function countWebhooks(sql: Sql, within?: Within): Promise<number> {
  const values = new Values()
  const [row] = await sql.all(`select count(*) as webhooks from webhooks where true ${isWithin(sql, within, values)}`, ...values.list)
  return integer(row!, 'webhooks')
}

/**
 * A webhook that is enabled again starts with no reason. Only later events are recorded for what it gets in addition, and what is pending of
 * another owner or agent is not sent (`operator.scope`).
 */
async function changeWebhook(sql: Sql, id: string, change: WebhookChange, within?: Within): Promise<WebhookOutcome> {
  const present = await findWebhook(sql, id, within)
  if (!present) return { kind: 'not_found' }
  const webhook = { ...present, ...change }
  // A change of other fields is not refused because the agent was deleted.
  const unknown = 'ownerId' in change || 'agentId' in change ? await findUnknown(sql, webhook, within) : undefined
  if (unknown) return unknown
  const matchesOthers = (['events', 'ownerId', 'agentId', 'enabled'] as const).some((field) => field in change)
  const since: Record<string, SqlValue> = matchesOthers ? { listening_since: await stopRecording(sql) } : {}
  const reason = webhook.enabled === present.enabled ? {} : { disabledReason: null }
  await updateRow(sql, 'webhooks', webhookFields, id, { ...change, ...reason, updatedAt: await sql.now() }, since)
  if ('ownerId' in change || 'agentId' in change) await endDeliveriesOfOthers(sql, id)
  return { kind: 'stored', webhook: (await findWebhook(sql, id))! }
}

/** Ends the pending deliveries of an owner or an agent that the webhook is no longer for. An attempt that runs has its earlier URL. */
async function endDeliveriesOfOthers(sql: Sql, id: string): Promise<void> {
  await sql.run(
    `update deliveries set state = 'failed', fence = fence + 1, ended_at = $1, status = null, error = $2
     where webhook_id = $3 and state = 'pending'
       and not exists (select 1 from events e join webhooks w on ${isForEvent} where e.id = deliveries.event_id and w.id = $3)`,
    await sql.now(),
    'the webhook is no longer for the owner or the agent of this event',
    id,
  )
}

/** Whether webhook `w` is for the owner and the agent of event `e`. */
export const isForEvent = '(w.owner_id is null or w.owner_id = e.owner_id) and (w.agent_id is null or w.agent_id = e.agent_id)'

/** Returns whether it was enabled. What is pending stays pending. */
async function disableWebhook(sql: Sql, id: string, reason: string): Promise<boolean> {
  const disabled = await sql.run(
    'update webhooks set enabled = 0, disabled_reason = $1, updated_at = $2 where id = $3 and enabled = 1',
    reason,
    await sql.now(),
    id,
  )
  return disabled === 1
}

/** `endsAt`: when the first old secret ends, so that another one can be created. */
export type RotationOutcome =
  | { kind: 'rotated'; webhook: StoredWebhook }
  | { kind: 'not_found' }
  | { kind: 'too_many_secrets'; endsAt: number }

/** The current secret, and old ones in their grace periods: each is a signature of every delivery. */
export const maxSecretsPerWebhook = 5

/**
 * `webhook.signed`: the previous secret signs as well for `graceMs`, and each older one until its own time. Without a grace period, all of
 * them end now.
 */
async function rotateWebhookSecret(
  sql: Sql,
  id: string,
  { sealedSecret, graceMs }: { sealedSecret: Uint8Array; graceMs: number },
  within?: Within,
): Promise<RotationOutcome> {
  const webhook = await findWebhook(sql, id, within)
  if (!webhook) return { kind: 'not_found' }
  const now = await sql.now()
  const earlier = graceMs > 0 ? webhook.oldSecrets.filter(({ until }) => until > now) : []
  if (earlier.length + 2 > maxSecretsPerWebhook) return { kind: 'too_many_secrets', endsAt: Math.min(...earlier.map(({ until }) => until)) }
  await sql.run(
    `update webhooks set previous_sealed_secret = ${graceMs > 0 ? 'sealed_secret' : 'null'}, previous_secret_until = $1, earlier_secrets = $2,
       sealed_secret = $3, updated_at = $4
      where id = $5`,
    graceMs > 0 ? now + graceMs : null,
    JSON.stringify(earlier.map(({ sealed, until }) => ({ sealed: Buffer.from(sealed).toString('base64'), until }))),
    sealedSecret,
    now,
    id,
  )
  return { kind: 'rotated', webhook: (await findWebhook(sql, id))! }
}

/** Its deliveries are no longer sent, and deleted with their events. */
async function deleteWebhook(sql: Sql, id: string, within?: Within): Promise<boolean> {
  if (!(await findWebhook(sql, id, within))) return false
  return (await sql.run('delete from webhooks where id = $1', id)) > 0
}

export async function findWebhook(sql: Sql, id: string, within?: Within): Promise<StoredWebhook | undefined> {
  const values = new Values()
  const [row] = await sql.all(
    `select ${columns} from webhooks where id = ${values.add(id)} ${isWithin(sql, within, values)}`,
    ...values.list,
  )
  return row && readWebhook(row)
}

/** Newest first. */
async function listWebhooks(
  sql: Sql,
  { within }: { within?: Within | undefined },
  { limit, before }: PageRequest,
): Promise<StoredWebhook[]> {
  const values = new Values()
  const rows = await sql.all(
    `select ${columns} from webhooks where (created_at, id) < (${values.add(before.createdAt)}, ${values.add(before.id)})
       ${isWithin(sql, within, values)} order by created_at desc, id desc limit ${values.add(limit)}`,
    ...values.list,
  )
  return rows.map(readWebhook)
}

/** `operator.scope`: the webhooks that get no event of another owner, or of another agent. */
export function isWithin(sql: Sql, within: Within | undefined, values: Values): string {
  if (!within) return ''
  const owner = values.add(within.ownerId)
  const ofOwner = `and (owner_id is null or owner_id = ${owner})`
  return within.agentId === null
    ? `${ofOwner} and (agent_id is null or ${isAgentOf(sql, 'agent_id', owner)}) and (owner_id is not null or agent_id is not null)`
    : `${ofOwner} and agent_id = ${values.add(within.agentId)}`
}

/**
 * Waits until no transaction is between reading the webhooks and its commit, and returns a time that no earlier event is after. Later
 * transactions see what this one writes. The embedded store has one writer, so nothing is between there. The end of the newest turn counts
 * because a clock may have been set back.
 */
async function stopRecording(sql: Sql): Promise<number> {
  if (sql.engine === 'postgres') await sql.all('select lock_webhooks_v1()')
  const [row] = await sql.all('select max(ended_at) as ended_at from turns where ended_at is not null')
  return Math.max(await sql.now(), integerOrNull(row!, 'ended_at') ?? 0)
}

async function findUnknown(
  sql: Sql,
  { ownerId, agentId }: Pick<Webhook, 'ownerId' | 'agentId'>,
  within: Within | undefined,
): Promise<Exclude<WebhookOutcome, { kind: 'stored' | 'not_found' | 'too_many' }> | undefined> {
  const [owner] = await sql.all('select id from owners where id = $1', ownerId)
  if (ownerId !== null && (!owner || (within && ownerId !== within.ownerId))) return { kind: 'owner_not_found' }
  const [agent] = await sql.all('select id, owner_id from agents where id = $1 and deleted_at is null', agentId)
  const isSeen = !within || (agent?.['owner_id'] === within.ownerId && (within.agentId ?? agentId) === agentId)
  if (agentId !== null && (!agent || !isSeen)) return { kind: 'agent_not_found' }
  if (agentId !== null && ownerId !== null && agent?.['owner_id'] !== ownerId) return { kind: 'agent_of_another' }
  if (!within || agentId !== null) return undefined
  if (within.agentId !== null) return { kind: 'too_wide', needs: 'agent_id' }
  return ownerId === null ? { kind: 'too_wide', needs: 'owner_id or agent_id' } : undefined
}

const columns = `${columnsOf(webhookFields)}, sealed_secret, previous_sealed_secret, previous_secret_until, earlier_secrets`

const readFields = rowReader(webhookFields)
export const readWebhook = (row: Row): StoredWebhook => ({
  ...readFields(row),
  sealedSecret: bytes(row, 'sealed_secret'),
  oldSecrets: readOldSecrets(row),
})

function readOldSecrets(row: Row): OldSecret[] {
  const until = integerOrNull(row, 'previous_secret_until')
  const previous = until === null ? [] : [{ sealed: bytes(row, 'previous_sealed_secret'), until }]
  // As written above.
  const earlier = JSON.parse(text(row, 'earlier_secrets')) as { sealed: string; until: number }[]
  return [...previous, ...earlier.map((one) => ({ sealed: Buffer.from(one.sealed, 'base64'), until: one.until }))]
}

const webhookAudit = auditedOf(webhookFields)

export const webhookReads = {
  findWebhook: read(findWebhook, { scope: ({ scope }, id) => instead(id, scope), readings: null }),
  listWebhooks: read(listWebhooks, { scope: withinScope, readings: null }),
}

export const webhookWrites = {
  createWebhook: write(createWebhook, {
    scope: ({ scope }, given) => instead(given, scope),
    audit: (outcome, [{ id }]) => created('webhook', id, webhookAudit, outcome.kind === 'stored' && outcome.webhook),
    changesCaches: true,
  }),
  changeWebhook: write(changeWebhook, {
    scope: ({ scope }, id, change) => instead(id, change, scope),
    before: (sql, [id]) => findWebhook(sql, id),
    audit: (outcome, [id], before) => changed('webhook', id, webhookAudit, before, outcome.kind === 'stored' && outcome.webhook),
    changesCaches: true,
  }),
  disableWebhook: serviceWrite(disableWebhook, {
    audit: (disabled, [id]) => (disabled ? differing('change', 'webhook', id, { enabled: true }, { enabled: false }) : []),
    changesCaches: true,
  }),
  rotateWebhookSecret: write(rotateWebhookSecret, {
    scope: ({ scope }, id, next) => instead(id, next, scope),
    audit: (outcome, [id]) => when(outcome.kind === 'rotated', 'rotate', 'webhook', id),
    changesCaches: true,
  }),
  deleteWebhook: write(deleteWebhook, {
    scope: ({ scope }, id) => instead(id, scope),
    before: (sql, [id]) => findWebhook(sql, id),
    audit: (found, [id], before) => deleted('webhook', id, webhookAudit, found && before),
    changesCaches: true,
  }),
}
