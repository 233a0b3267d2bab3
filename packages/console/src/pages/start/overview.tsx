/** The state of the installation: the last day, what is running, low balances, and failures. */
import { Button, Stack } from '@mantine/core'
import { Link } from 'wouter'
import type { Agent } from '../../api/types.ts'
import { Page } from '../../show/page.tsx'
import { LastDay } from './last-day.tsx'
import { LowOwners } from './low-owners.tsx'
import { TurnsWithoutReply } from './turns-without-reply.tsx'
import { Allowed } from '../../show/allowed.tsx'

export function Overview({ agents }: { agents: Agent[] }) {
  return (
    <Page
      title="Overview"
      lead="Activity in the last 24 hours, and what needs attention."
      actions={
        <Allowed permission="provider_keys" installation>
          <Button component={Link} href="/?agent=new">
            Set up another agent
          </Button>
        </Allowed>
      }
    >
      <Stack gap="xl">
        <LastDay />
        <LowOwners />
        <TurnsWithoutReply agents={agents} />
      </Stack>
    </Page>
  )
}
