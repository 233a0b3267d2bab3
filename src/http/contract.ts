/**
 * The types that the console shares with the server: responses of the admin API and events of a turn's stream, derived from the schemas
 * that validate and describe them. The console imports no other file of src/ except the roles, so a changed response that the console does
 * not expect fails its type check.
 */
import type { Static } from 'typebox'
import type * as agents from './admin/agents/agent-answers.ts'
import type * as answers from './admin/answers.ts'
import type { AttentionAnswer } from './admin/attention-answers.ts'
import type * as endUsers from './admin/end-user-answers.ts'
import type * as operators from './admin/operator-answers.ts'
import type * as owners from './admin/owner-answers.ts'
import type * as page from './admin/console-answers.ts'
import type * as prices from './admin/price-answers.ts'
import type * as traces from './admin/trace-answers.ts'
import type * as turns from './admin/turn-answers.ts'
import type * as webhooks from './admin/webhook-answers.ts'
import type * as signIn from './console/sign-in/sign-in-answers.ts'
import type * as chat from './public/schemas.ts'

export type { Permission, Role } from '../operators/principal.ts'
export type { ProviderKind } from '../provider-kinds.ts'
export type Owner = Static<typeof owners.Owner.ref>
export type OwnerWithHolds = Static<typeof owners.OwnerWithHolds.ref>
export type LedgerEntry = Static<typeof owners.LedgerEntry.ref>
export type Provider = Static<typeof answers.Provider.ref>
export type ProviderTest = Static<typeof answers.ProviderTest.ref>
export type ProviderModels = Static<typeof page.ProviderModels.ref>
export type Agent = Static<typeof agents.Agent.ref>
export type AgentVersion = Static<typeof agents.AgentVersion.ref>
export type PriceOfVersion = Static<typeof agents.PriceOfVersion.ref>
export type PriceSource = Agent['price_source']
export type PriceCalculation = Static<typeof prices.PriceCalculation.ref>
export type Tool = Static<typeof agents.Tool.ref>
export type { SpendingAnswer as Spending } from './admin/agents/spend-limit-fields.ts'
export type Attention = Static<typeof AttentionAnswer>
export type ToolDifferences = Static<typeof agents.ToolDifferences.ref>
export type Document = Static<typeof agents.Document.ref>
export type Passages = Static<typeof agents.Found.ref>
export type Chunk = Static<typeof agents.Chunk.ref>
export type Key = Static<typeof answers.Key.ref>
export type ShownKey = Static<typeof answers.ShownKey.ref>
export type Conversation = Static<typeof turns.StoredConversation.ref>
export type ListedConversation = Static<typeof turns.ListedConversation.ref>
export type Message = Static<typeof turns.StoredMessage.ref>
export type Turn = Static<typeof turns.Turn.ref>
export type TurnWithSteps = Static<typeof turns.TurnWithSteps.ref>
export type TurnTrace = Static<typeof traces.TurnTrace.ref>
export type TurnRerun = Static<typeof traces.TurnRerun.ref>
export type Preview = Static<typeof traces.Preview.ref>
export type PreviewEvent = Static<typeof traces.PreviewEvent.ref>
export type Feedback = Static<typeof turns.Feedback.ref>
export type StoredFeedback = Static<typeof turns.StoredFeedback.ref>
export type Webhook = Static<typeof webhooks.Webhook.ref>
export type ShownWebhook = Static<typeof webhooks.ShownWebhook.ref>
export type WebhookTest = Static<typeof webhooks.WebhookTest.ref>
export type Delivery = Static<typeof webhooks.Delivery.ref>
export type SentDelivery = Static<typeof webhooks.SentDelivery.ref>
export type EndUser = Static<typeof endUsers.EndUser.ref>
export type EndUserDetail = Static<typeof endUsers.EndUserDetail.ref>
export type Usage = Static<typeof answers.Usage.ref>
export type UsageLine = Static<typeof answers.UsageLine.ref>
export type AuditEntry = Static<typeof answers.AuditEntry.ref>

/** `api_url` is the base URL of the public API for callers, or null if it is the origin of the console's page. */
export type Session = Static<typeof page.Session.ref>
export type Me = Static<typeof operators.Me.ref>
export type Operator = Static<typeof operators.Operator.ref>
export type Invitation = Static<typeof operators.Invitation.ref>
export type InvitedOperator = Static<typeof operators.InvitedOperator.ref>
export type AdminToken = Static<typeof operators.AdminToken.ref>
export type ShownAdminToken = Static<typeof operators.ShownAdminToken.ref>
export type SignInOptions = Static<typeof signIn.SignInOptions.ref>
export type PendingInvitation = Static<typeof signIn.PendingInvitation.ref>
export type Passkey = Static<typeof signIn.Passkey.ref>
export type OwnSession = Static<typeof signIn.OwnSessionList.ref>['data'][number]
export type Status = Static<typeof page.Status.ref>
export type Verification = Static<typeof page.Verification.ref>
export type ToolTrial = Static<typeof page.ToolTrial.ref>
export type ModelPrice = Static<typeof page.ModelPrice.ref>

/** An event of a turn's stream. */
export type ChatEvent = Static<typeof chat.ChatEvent.ref>
/** A language that the server can stem, as in the agent's `knowledge.language`. */
export type { Language } from '../store/queries/knowledge/stems.ts'
