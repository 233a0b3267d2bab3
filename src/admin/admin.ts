/**
 * Everything an operator can do: owners and their ledger, providers, agents and their documents, API keys, history, usage, and the audit
 * log. One file per noun implements it. Contains no SQL and no HTTP. Every function may throw ApiError, including `service_unavailable` if
 * the store is unavailable.
 */
import type { RandomBytes } from '../access/api-key.ts'
import type { Agents } from '../agent/agent.ts'
import type { Guard } from '../agent/guard/guard.ts'
import type { Knowledge } from '../agent/knowledge/knowledge.ts'
import type { Models } from '../agent/models/models.ts'
import type { Tools } from '../agent/tools/tools.ts'
import type { Trace } from '../agent/trace.ts'
import type { Sealer } from '../config/secrets.ts'
import { createRequests } from './admin-store.ts'
import type { PerRequest, AdminRequest } from './admin-store.ts'
import { createAgentsAdmin } from './agents/agents.ts'
import type { AgentsAdmin } from './agents/agents.ts'
import { accountAdmin } from './account.ts'
import type { AccountAdmin } from './account.ts'
import { createAdminTokensAdmin } from './admin-tokens.ts'
import type { AdminTokensAdmin } from './admin-tokens.ts'
import { attentionAdmin } from './attention.ts'
import type { AttentionAdmin } from './attention.ts'
import { auditAdmin } from './audit.ts'
import type { AuditAdmin } from './audit.ts'
import { createApiKeysAdmin } from './api-keys.ts'
import type { ApiKeysAdmin } from './api-keys.ts'
import { createDocumentsAdmin } from './agents/documents.ts'
import type { DocumentLimits } from './agents/documents.ts'
import type { DocumentsAdmin } from './agents/documents.ts'
import { endUsersAdmin } from './end-users.ts'
import type { EndUsersAdmin } from './end-users.ts'
import { historyAdmin } from './history.ts'
import type { HistoryAdmin } from './history.ts'
import { createLedgerAdmin } from './owners/ledger-entries.ts'
import type { LedgerAdmin } from './owners/ledger-entries.ts'
import { modelPricesAdmin } from './providers/model-prices.ts'
import type { ModelPricesAdmin } from './providers/model-prices.ts'
import { createOwnersAdmin } from './owners/owners.ts'
import type { OwnersAdmin } from './owners/owners.ts'
import { createPlaygroundAdmin } from './agents/playground.ts'
import type { PlaygroundAdmin } from './agents/playground.ts'
import { createPreviewsAdmin } from './agents/previews.ts'
import type { PreviewsAdmin } from './agents/previews.ts'
import { createOperatorsAdmin } from './operators.ts'
import type { OperatorsAdmin } from './operators.ts'
import { createProvidersAdmin } from './providers/providers.ts'
import type { ProvidersAdmin } from './providers/providers.ts'
import { createSessionsAdmin } from './sessions.ts'
import type { SessionsAdmin } from './sessions.ts'
import { createSignInAdmin } from './sign-in/sign-in.ts'
import type { SignInAdmin, SignInMethods } from './sign-in/sign-in.ts'
import { createRerunsAdmin } from './reruns.ts'
import type { RerunsAdmin } from './reruns.ts'
import { spendLimitsAdmin } from './agents/spend-limits.ts'
import type { SpendLimitsAdmin } from './agents/spend-limits.ts'
import { createTracesAdmin } from './traces.ts'
import type { TracesAdmin } from './traces.ts'
import { createToolTrials } from './agents/tool-trials.ts'
import type { ToolTrialsAdmin } from './agents/tool-trials.ts'
import { createWebhooksAdmin } from './webhooks.ts'
import type { WebhooksAdmin } from './webhooks.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import { usageAdmin } from './owners/usage.ts'
import type { UsageAdmin } from './owners/usage.ts'
import { boundMethods } from '../store/methods.ts'
import type { Store } from '../store/store.ts'
import type { Ids } from '../ids.ts'
import type { ScopedKind } from '../store/queries/scope.ts'
import type { Actor, Author } from '../store/queries/audit.ts'
import type { Scope } from '../operators/principal.ts'

export type AdminCalls = {
  /**
   * For other modules that act on a row: whether it belongs to what the caller is restricted to (`operator.scope`). True for a caller without
   * a restriction, even if there is no such row.
   */
  sees(kind: ScopedKind, id: string): Promise<boolean>
} & OwnersAdmin &
  LedgerAdmin &
  ProvidersAdmin &
  AgentsAdmin &
  ToolTrialsAdmin &
  ModelPricesAdmin &
  DocumentsAdmin &
  ApiKeysAdmin &
  HistoryAdmin &
  EndUsersAdmin &
  TracesAdmin &
  RerunsAdmin &
  UsageAdmin &
  SpendLimitsAdmin &
  AttentionAdmin &
  WebhooksAdmin &
  PlaygroundAdmin &
  PreviewsAdmin &
  SessionsAdmin &
  AccountAdmin &
  SignInAdmin &
  OperatorsAdmin &
  AdminTokensAdmin &
  AuditAdmin

/** Changes made through this object itself are made by the service (the first start), and the audit log says so. */
export type Admin = AdminCalls & {
  /** The same for one request of `actor`, which the audit log names. `scope` restricts what it sees and changes; null: everything. */
  calledBy(actor: Actor, scope: Scope | null): AdminCalls
  /** The author of one change that another module makes for a request of `actor`. */
  authorOf(actor: Actor): Author
}

export type AdminOptions = {
  store: Pick<Store, 'read' | 'writeAs'>
  sealer: Sealer
  models: Models
  /** Lists the tools of MCP servers when an agent is saved, and runs tool tests. */
  tools: Pick<Tools, 'pin' | 'open'>
  knowledge: Pick<Knowledge, 'search'>
  /** Checks addresses before anything is stored that would be refused later. */
  guard: Pick<Guard, 'refusedAddress'>
  webhooks: Pick<Webhooks, 'test'>
  documentLimits: DocumentLimits
  /** A new ID, `<prefix>_<lower-case ULID>`. */
  newId: Ids['newId']
  randomBytes: RandomBytes
  /** The key for the digests of sessions. */
  adminToken: string
  signIn: SignInMethods
  /** Ends what would otherwise outlive the server. */
  closing: AbortSignal
  /** Runs messages that are not stored: reruns and previews. */
  agents: Agents
  /** The deadline of a turn, in milliseconds. */
  turnMs: number
  /** The trace so far of a turn that runs in this process. */
  liveTrace(requestId: string): Trace | undefined
}

/** Everything is made once. What belongs to one request is in its `AdminRequest` (admin-store.ts). */
export function createAdmin(options: AdminOptions): Admin {
  // No write of the admin API changes more than one thing.
  const authorOf = (actor: Actor): Author => ({ ...actor, entryIds: [options.newId('aud')] })
  const requestOf = createRequests({ store: options.store, authorOf })
  const functions = createFunctions(options)
  const callsFor = boundMethods<AdminRequest, AdminCalls>(functions, (request, name, args) =>
    (functions[name] as (request: AdminRequest, ...args: unknown[]) => unknown)(request, ...args),
  )
  const calledBy = (actor: Actor, scope: Scope | null): AdminCalls => callsFor(requestOf(actor, scope))
  return Object.assign(calledBy({ who: 'server', requestId: null }, null), { calledBy, authorOf })
}

const createFunctions = (options: AdminOptions): PerRequest<AdminCalls> => ({
  sees: ({ sees }, kind, id) => sees(kind, id),
  ...createOwnersAdmin(options),
  ...createLedgerAdmin(options),
  ...createProvidersAdmin(options),
  ...createAgentsAdmin(options),
  ...createToolTrials(options),
  ...modelPricesAdmin,
  ...createDocumentsAdmin(options),
  ...createApiKeysAdmin(options),
  ...historyAdmin,
  ...endUsersAdmin,
  ...createTracesAdmin(options),
  ...createRerunsAdmin(options),
  ...usageAdmin,
  ...spendLimitsAdmin,
  ...attentionAdmin,
  ...createWebhooksAdmin(options),
  ...createPlaygroundAdmin(options),
  ...createPreviewsAdmin(options),
  ...createSessionsAdmin(options),
  ...accountAdmin,
  ...createSignInAdmin(options),
  ...createOperatorsAdmin(options),
  ...createAdminTokensAdmin(options),
  ...auditAdmin,
})
