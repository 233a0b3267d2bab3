/** The operations page: state, running turns, failures, and verification of the stored data. */
import { Text } from '@mantine/core'
import { Page } from '../../show/page.tsx'
import { RunningTurns } from '../../show/running-turns.tsx'
import { Condition } from './condition.tsx'
import { EndedTurns } from './ended-turns.tsx'
import { Part } from './part.tsx'
import { Verify } from './verify.tsx'

export function Operations() {
  return (
    <Page title="Status" lead="Health, running turns, and stored data. Updated every 5 seconds while this page is visible.">
      <Condition />
      <Part title="Running turns" lead="All processes, newest first. If a process stops, its turns are recovered when their leases expire.">
        <RunningTurns none={<Text size="sm">No running turns.</Text>} />
      </Part>
      <EndedTurns />
      <Verify />
    </Page>
  )
}
