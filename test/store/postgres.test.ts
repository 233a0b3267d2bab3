/** The shared store passes the conformance suite. */
import { openEmptyStore } from '../support/pooled-store.ts'
import { noPostgres } from '../support/postgres-server.ts'
import { checkOn, conformance } from './conformance.ts'
import { journalConformance } from './journal-conformance.ts'
import { attentionConformance } from './attention-conformance.ts'
import { operatorConformance } from './operator-conformance.ts'
import { turnResourceConformance } from './turn-resource-conformance.ts'
import { priceConformance } from './price-conformance.ts'
import { spendLimitConformance } from './spend-limit-conformance.ts'
import { spendLimitEventsConformance } from './spend-limit-events-conformance.ts'
import { unpaidConformance } from './unpaid-conformance.ts'
import { webhookConformance } from './webhook-conformance.ts'

const check = checkOn('postgres', () => openEmptyStore('postgres'), noPostgres())
conformance(check)
journalConformance(check)
priceConformance(check)
unpaidConformance(check)
spendLimitConformance(check)
spendLimitEventsConformance(check)
webhookConformance(check)
turnResourceConformance(check)
operatorConformance(check)
attentionConformance(check)
