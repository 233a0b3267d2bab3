/** Shows what the two compared configurations differ in. */
import { Button } from '@mantine/core'
import { Suspense, lazy, useState } from 'react'
import type { Agent, AgentVersion } from '../../api/types.ts'
import { contentOf, nameOf } from './settings.ts'
import type { Setting } from './settings.ts'

const Differences = lazy(() => import('./differences.tsx').then(({ Differences: dialog }) => ({ default: dialog })))

type DifferencesButtonProps = { agent: Agent; versions: AgentVersion[]; a: Setting; b: Setting }

export function DifferencesButton({ agent, versions, a, b }: DifferencesButtonProps) {
  const [shown, setShown] = useState(false)
  const contentsOf = (setting: Setting): AgentVersion | undefined => {
    const base = versions.find(({ version }) => version === (setting.version ?? agent.version))
    return base && contentOf(base, setting)
  }
  const [of, and] = [contentsOf(a), contentsOf(b)]
  return (
    <>
      <Button variant="default" disabled={!of || !and} onClick={() => setShown(true)}>
        Show differences
      </Button>
      {shown && of && and ? (
        <Suspense fallback={null}>
          <Differences a={of} b={and} names={[nameOf(a, agent.version), nameOf(b, agent.version)]} onClose={() => setShown(false)} />
        </Suspense>
      ) : null}
    </>
  )
}
