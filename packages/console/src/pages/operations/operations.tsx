/** How the service is, what runs, what failed, who changed what, and whether the stored data is sound. */
import { Page } from '../../show/page.tsx'
import { Audit } from './audit.tsx'
import { Condition } from './condition.tsx'
import { EndedTurns } from './ended-turns.tsx'
import { RunningTurns } from './running-turns.tsx'
import { Verify } from './verify.tsx'

export function Operations() {
  return (
    <Page title="Operations" lead="Figures are read anew every 5 seconds while you look at this page.">
      <Condition />
      <RunningTurns />
      <EndedTurns />
      <Verify />
      <Audit />
    </Page>
  )
}
