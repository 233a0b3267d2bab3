/** Shows the sign-in without a session, and otherwise the shell with one page. Each page is loaded when it is first opened. */
import { Center, Loader } from '@mantine/core'
import { Suspense, lazy, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { ApiFailure } from './api/client.ts'
import { useSession } from './api/session.ts'
import { FailureNote } from './show/failure-note.tsx'
import { PageBoundary } from './show/page-boundary.tsx'
import { PageOutline } from './show/waiting.tsx'
import { Guard } from './guard.tsx'
import { Lost } from './pages/lost.tsx'
import { Shell } from './shell.tsx'

const SignIn = lazy(() => import('./pages/sign-in/sign-in.tsx').then(({ SignIn: page }) => ({ default: page })))
const Invitation = lazy(() => import('./pages/sign-in/invitation.tsx').then(({ Invitation: page }) => ({ default: page })))
const Recovery = lazy(() => import('./pages/sign-in/recovery.tsx').then(({ Recovery: page }) => ({ default: page })))
const Operators = lazy(() => import('./pages/operators/operators.tsx').then(({ Operators: page }) => ({ default: page })))
const OperatorPage = lazy(() => import('./pages/operators/operator.tsx').then(({ OperatorPage: page }) => ({ default: page })))
const Tokens = lazy(() => import('./pages/tokens/tokens.tsx').then(({ Tokens: page }) => ({ default: page })))
const Account = lazy(() => import('./pages/account/account.tsx').then(({ Account: page }) => ({ default: page })))
const Start = lazy(() => import('./pages/start/start.tsx').then(({ Start: page }) => ({ default: page })))
const Agents = lazy(() => import('./pages/agents/agents.tsx').then(({ Agents: page }) => ({ default: page })))
const NewAgent = lazy(() => import('./pages/agents/new-agent.tsx').then(({ NewAgent: page }) => ({ default: page })))
const AgentPage = lazy(() => import('./pages/agents/agent.tsx').then(({ AgentPage: page }) => ({ default: page })))
const Providers = lazy(() => import('./pages/providers/providers.tsx').then(({ Providers: page }) => ({ default: page })))
const Playground = lazy(() => import('./pages/playground/playground.tsx').then(({ Playground: page }) => ({ default: page })))
const Knowledge = lazy(() => import('./pages/knowledge/knowledge.tsx').then(({ Knowledge: page }) => ({ default: page })))
const DocumentPage = lazy(() => import('./pages/knowledge/document.tsx').then(({ DocumentPage: page }) => ({ default: page })))
const Keys = lazy(() => import('./pages/keys/keys.tsx').then(({ Keys: page }) => ({ default: page })))
const Conversations = lazy(() => import('./pages/conversations/conversations.tsx').then(({ Conversations: page }) => ({ default: page })))
const Transcript = lazy(() => import('./pages/conversations/transcript.tsx').then(({ Transcript: page }) => ({ default: page })))
const TurnPage = lazy(() => import('./pages/turn/turn.tsx').then(({ TurnPage: page }) => ({ default: page })))
const FeedbackPage = lazy(() => import('./pages/feedback/feedback.tsx').then(({ FeedbackPage: page }) => ({ default: page })))
const EndUsers = lazy(() => import('./pages/end-users/end-users.tsx').then(({ EndUsers: page }) => ({ default: page })))
const Money = lazy(() => import('./pages/money/money.tsx').then(({ MoneyPage: page }) => ({ default: page })))
const OwnerPage = lazy(() => import('./pages/money/owner.tsx').then(({ OwnerPage: page }) => ({ default: page })))
const UsagePage = lazy(() => import('./pages/usage/usage.tsx').then(({ UsagePage: page }) => ({ default: page })))
const Webhooks = lazy(() => import('./pages/webhooks/webhooks.tsx').then(({ Webhooks: page }) => ({ default: page })))
const Traces = lazy(() => import('./pages/turn/traces.tsx').then(({ Traces: page }) => ({ default: page })))
const Limits = lazy(() => import('./pages/agents/limits/limits-page.tsx').then(({ Limits: page }) => ({ default: page })))
const AuditLog = lazy(() => import('./pages/operations/audit.tsx').then(({ AuditLog: page }) => ({ default: page })))
const Operations = lazy(() => import('./pages/operations/operations.tsx').then(({ Operations: page }) => ({ default: page })))

/** Whether it was a server that answered. */
const isReached = (error: unknown): boolean => error instanceof ApiFailure && error.status > 0

const reading = (
  <Center mih="40dvh">
    <Loader aria-label="Loading" />
  </Center>
)

export function App() {
  const session = useSession()
  const [location] = useLocation()
  const [after, setAfter] = useState<'ended' | 'signed out' | null>(null)
  // A session that is gone without a sign-out has expired.
  if (session.data && after === null) setAfter('ended')
  if (location === '/invitation' || location === '/recovery')
    return <Suspense fallback={reading}>{location === '/invitation' ? <Invitation /> : <Recovery />}</Suspense>
  if (session.isPending) return reading
  if (session.error && session.data === undefined)
    return (
      <Center mih="100dvh" p="md">
        <FailureNote
          error={session.error}
          title={isReached(session.error) ? 'The server could not open the console' : 'Cannot reach the server'}
          onRetry={() => void session.refetch()}
        />
      </Center>
    )
  if (!session.data)
    return (
      <Suspense fallback={reading}>
        <SignIn after={after} onTry={() => setAfter('ended')} />
      </Suspense>
    )
  return (
    <Shell signedIn={session.data} onSignOut={() => setAfter('signed out')}>
      <PageBoundary place={location}>
        <Suspense fallback={<PageOutline />}>
          <Guard location={location}>
            <Switch>
              <Route path="/" component={Start} />
              <Route path="/agents" component={Agents} />
              <Route path="/agents/new" component={NewAgent} />
              <Route path="/agents/:id/:tab?">{({ id, tab }) => <AgentPage key={id} id={id} tab={tab} />}</Route>
              <Route path="/providers" component={Providers} />
              <Route path="/playground/:agentId?">{({ agentId }) => <Playground agentId={agentId} />}</Route>
              <Route path="/knowledge/:agentId/:documentId">
                {({ agentId, documentId }) => <DocumentPage key={documentId} agentId={agentId} documentId={documentId} />}
              </Route>
              <Route path="/knowledge/:agentId?">{({ agentId }) => <Knowledge agentId={agentId} />}</Route>
              <Route path="/keys/:agentId?">{({ agentId }) => <Keys agentId={agentId} />}</Route>
              <Route path="/conversations" component={Conversations} />
              <Route path="/conversations/:id">{({ id }) => <Transcript key={id} id={id} />}</Route>
              <Route path="/turns" component={Traces} />
              <Route path="/turns/:requestId">{({ requestId }) => <TurnPage key={requestId} requestId={requestId} />}</Route>
              <Route path="/end-users/:agentId/one">{({ agentId }) => <EndUsers agentId={agentId} one />}</Route>
              <Route path="/end-users/:agentId?">{({ agentId }) => <EndUsers agentId={agentId} />}</Route>
              <Route path="/feedback" component={FeedbackPage} />
              <Route path="/money" component={Money} />
              <Route path="/money/:ownerId">{({ ownerId }) => <OwnerPage key={ownerId} ownerId={ownerId} />}</Route>
              <Route path="/usage" component={UsagePage} />
              <Route path="/webhooks/:id?">{({ id }) => <Webhooks key={id} id={id} />}</Route>
              <Route path="/limits" component={Limits} />
              <Route path="/operations" component={Operations} />
              <Route path="/audit" component={AuditLog} />
              <Route path="/operators" component={Operators} />
              <Route path="/operators/:id">{({ id }) => <OperatorPage key={id} id={id} />}</Route>
              <Route path="/tokens" component={Tokens} />
              <Route path="/account" component={Account} />
              <Route path="/sign-in">
                <Redirect to="/" replace />
              </Route>
              <Route component={Lost} />
            </Switch>
          </Guard>
        </Suspense>
      </PageBoundary>
    </Shell>
  )
}
