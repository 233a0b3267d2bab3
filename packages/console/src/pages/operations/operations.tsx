/** The operations page: state, running turns, failures, audit log, and verification of the stored data. */
import { Page } from '../../show/page.tsx'
import { Audit } from './audit.tsx'
import { Condition } from './condition.tsx'
import { EndedTurns } from './ended-turns.tsx'
import { RunningTurns } from './running-turns.tsx'
import { Verify } from './verify.tsx'

export function Operations() {
  return (
    <Page title="System" lead="Health, running turns, and stored data. Updated every 5 seconds while this page is visible.">
      <Condition />
      <RunningTurns />
      <EndedTurns />
      <Verify />
      <Audit />
    </Page>
  )
}
