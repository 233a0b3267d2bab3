/** The sender of webhooks without a receiver: how it stops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noFailpoints } from '../../src/failpoints.ts'
import type { DueWebhooks } from '../../src/store/queries/webhooks/deliveries.ts'
import { createWebhooks } from '../../src/webhooks/webhooks.ts'
import type { WebhooksOptions } from '../../src/webhooks/webhooks.ts'

void test('webhook.delivered: a shutdown while the store is asked does not wait for the next round', async (t) => {
  // Time does not pass: a wait that is not ended never ends.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let answer = (_: DueWebhooks): void => undefined
  const asked = new Promise<DueWebhooks>((resolve) => (answer = resolve))
  const nothing = (): void => undefined
  const webhooks = createWebhooks({
    store: {
      read: { listDueWebhooks: () => asked },
      write: {},
      writeAs: nothing,
      onChange: nothing,
    } as unknown as WebhooksOptions['store'],
    guard: {} as WebhooksOptions['guard'],
    sealer: {} as WebhooksOptions['sealer'],
    failpoints: noFailpoints,
    log: { info: nothing, warn: nothing, error: (...what: unknown[]) => assert.fail(String(what)) } as unknown as WebhooksOptions['log'],
    metrics: { webhookAttempted: nothing, webhooksKnown: nothing },
    newId: (prefix) => `${prefix}_x`,
  })
  webhooks.start()
  const stopped = webhooks.stop()
  answer({ now: 0, webhooks: [] })
  await stopped
})
