/**
 * Webhooks: the operator's endpoints, their secrets, and what was delivered to them. A secret is only in the response to the request that
 * created it. It is encrypted for its webhook before the store receives it.
 */
import type { Guard } from '../agent/guard/guard.ts'
import type { Sealer } from '../config/secrets.ts'
import { ApiError, invalid } from '../errors.ts'
import type { Ids } from '../ids.ts'
import { maxReplayed } from '../store/queries/webhooks/replay.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import { maxSecretsPerWebhook } from '../store/queries/webhooks/webhooks.ts'
import type { Delivery, DeliveryState } from '../resources/delivery.ts'
import type { GivenWebhook, Webhook, WebhookChange } from '../resources/webhook.ts'
import type { StoredWebhook, WebhookOutcome } from '../store/queries/webhooks/webhooks.ts'
import { bodyOf, newSecret, secretBoundTo } from '../webhooks/webhooks.ts'
import type { Webhooks, WebhookTest } from '../webhooks/webhooks.ts'
import type { AdminStore, PerRequest } from './admin-store.ts'
import { tooManySecrets } from './api-keys.ts'

export type { WebhookTest }

/** Each throws ApiError `not_found` if the webhook does not exist, and `validation_error` for a URL, owner or agent that is not allowed. */
export type WebhooksAdmin = {
  /** `secret` is shown only once. */
  createWebhook(given: GivenWebhook): Promise<Webhook & { secret: string }>
  /** Newest first. */
  listWebhooks(page: PageWanted): Promise<Page<Webhook>>
  findWebhook(id: string): Promise<Webhook>
  changeWebhook(id: string, change: WebhookChange): Promise<Webhook>
  deleteWebhook(id: string): Promise<void>
  /** The previous secret signs as well for `graceSeconds`, and older ones until their own time. Throws ApiError `conflict` if these are too many. */
  rotateWebhookSecret(id: string, graceSeconds: number): Promise<Webhook & { secret: string }>
  /** Sends one event. A failure is a result, not an error. */
  testWebhook(id: string): Promise<WebhookTest>
  /** Newest first. */
  listDeliveries(id: string, state: DeliveryState | undefined, page: PageWanted): Promise<Page<Delivery>>
  /** With the body that its attempts send; null if the event cannot be read. Has messages only if the webhook has, and `withMessages`. */
  findDelivery(id: string, deliveryId: string, withMessages: boolean): Promise<Delivery & { body: string | null }>
  retryDelivery(id: string, deliveryId: string): Promise<Delivery>
  /** Sends the events of a range again, `to` excluded. Returns how many. */
  replayDeliveries(id: string, range: { from: number; to: number }): Promise<number>
}

type Options = {
  sealer: Sealer
  guard: Pick<Guard, 'refusedAddress'>
  webhooks: Pick<Webhooks, 'test'>
  newId: Ids['newId']
}

export function createWebhooksAdmin({ sealer, guard, webhooks, newId }: Options): PerRequest<WebhooksAdmin> {
  async function stored(store: AdminStore, id: string): Promise<StoredWebhook> {
    const webhook = await store.read.findWebhook(id)
    if (!webhook) throw noSuchWebhook()
    return webhook
  }

  function refuseUrl(url: string): void {
    if (!URL.canParse(url) || /[\s\p{Cc}]/u.test(url)) throw invalid('url', 'url must be an https URL.')
    const why = guard.refusedAddress(url)
    if (why !== undefined) throw invalid('url', `url is not allowed: ${why}.`)
  }

  return {
    async createWebhook({ store }, given) {
      refuseUrl(given.url)
      const id = newId('whk')
      const secret = newSecret()
      const outcome = await store.write.createWebhook({ ...given, id, sealedSecret: sealer.seal(secret, secretBoundTo(id)) })
      return { ...changed(outcome), secret }
    },

    async listWebhooks({ store }, page) {
      const { data, nextCursor } = pageOf(await store.read.listWebhooks({}, pageRequest(page)), page)
      return { data: data.map(withoutSecret), nextCursor }
    },

    findWebhook: async ({ store }, id) => withoutSecret(await stored(store, id)),

    async changeWebhook({ store }, id, change) {
      if (change.url !== undefined) refuseUrl(change.url)
      return changed(await store.write.changeWebhook(id, change))
    },

    async deleteWebhook({ store }, id) {
      if (!(await store.write.deleteWebhook(id))) throw noSuchWebhook()
    },

    async rotateWebhookSecret({ store }, id, graceSeconds) {
      const secret = newSecret()
      const sealedSecret = sealer.seal(secret, secretBoundTo(id))
      const outcome = await store.write.rotateWebhookSecret(id, { sealedSecret, graceMs: graceSeconds * 1000 })
      if (outcome.kind === 'not_found') throw noSuchWebhook()
      if (outcome.kind === 'too_many_secrets') throw tooManySecrets('webhook', maxSecretsPerWebhook, outcome.endsAt)
      return { ...withoutSecret(outcome.webhook), secret }
    },

    testWebhook: async ({ store }, id) => webhooks.test(await stored(store, id)),

    async listDeliveries({ store }, id, state, page) {
      await stored(store, id)
      return pageOf(await store.read.listDeliveries({ webhookId: id, state }, pageRequest(page)), page)
    },

    async findDelivery({ store }, id, deliveryId, withMessages) {
      const { includeMessages } = await stored(store, id)
      const withTexts = includeMessages && withMessages
      const found = await store.read.readDeliveredEvent({ webhookId: id, eventId: deliveryId, withTexts })
      if (!found) throw noSuchDelivery()
      return { ...found.delivery, body: found.event && bodyOf(found.event, withTexts) }
    },

    async retryDelivery({ store }, id, deliveryId) {
      await stored(store, id)
      const outcome = await store.write.retryDelivery({ webhookId: id, eventId: deliveryId })
      if (outcome.kind === 'not_found') throw noSuchDelivery()
      if (outcome.kind === 'of_another')
        throw new ApiError('conflict', 'This webhook is no longer for the owner or the agent of this event, so it is not sent again.')
      return outcome.delivery
    },

    async replayDeliveries({ store }, id, { from, to }) {
      if (from >= to) throw invalid('from', 'from must be before to.')
      const outcome = await store.write.replayDeliveries({ webhookId: id, from, to })
      switch (outcome.kind) {
        case 'replayed':
          return outcome.deliveries
        case 'not_found':
          throw noSuchWebhook()
        case 'too_old':
          throw invalid('from', 'from must be within the last 30 days.')
        case 'too_many':
          throw invalid('from', `The range has more than ${maxReplayed} events. Replay it in shorter ranges.`)
      }
    },
  }
}

const withoutSecret = ({ sealedSecret: _, oldSecrets, ...webhook }: StoredWebhook): Webhook => ({
  ...webhook,
  previousSecretExpiresAt: oldSecrets.length === 0 ? null : Math.max(...oldSecrets.map(({ until }) => until)),
})

function changed(outcome: WebhookOutcome): Webhook {
  switch (outcome.kind) {
    case 'stored':
      return withoutSecret(outcome.webhook)
    case 'not_found':
      throw noSuchWebhook()
    case 'owner_not_found':
      throw invalid('owner_id', 'owner_id: this owner does not exist.')
    case 'agent_not_found':
      throw invalid('agent_id', 'agent_id: this agent does not exist.')
    case 'agent_of_another':
      throw invalid(
        'agent_id',
        'agent_id: this agent belongs to another owner than owner_id. Choose an agent of that owner, or set owner_id to null.',
      )
    case 'too_wide':
      throw invalid(
        outcome.needs,
        `Set ${outcome.needs}, because you are restricted to ${outcome.needs === 'agent_id' ? 'one agent' : 'one owner'}.`,
      )
    case 'too_many':
      throw new ApiError('conflict', `There are ${outcome.limit} webhooks already. Delete one first.`)
  }
}

const noSuchWebhook = (): ApiError => new ApiError('not_found', 'This webhook does not exist.')
const noSuchDelivery = (): ApiError => new ApiError('not_found', 'This delivery does not exist. Deliveries are deleted after 30 days.')
