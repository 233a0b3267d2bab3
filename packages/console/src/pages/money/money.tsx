/** All owners: their balances, what is held for running turns, and whose balance is low. */
import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useOwners } from '../../api/lists.ts'
import { Empty } from '../../show/empty.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { NewOwner } from './new-owner.tsx'
import { OwnerTable } from './owner-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

export function MoneyPage() {
  const owners = useOwners()
  const [opened, { open, close }] = useDisclosure()
  const create = (
    <Allowed permission="billing" installation>
      <Button onClick={open}>Create owner</Button>
    </Allowed>
  )
  return (
    <Page
      title="Owners"
      lead="An owner’s balance pays for the replies of its agents. While a turn runs, its maximum cost is held; the rest of the balance is available."
      actions={owners.data?.length ? create : null}
    >
      <Waiting for={owners} what="owners">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No owners yet" action={create}>
              Every agent has an owner whose balance pays for its replies. Create an owner with an opening balance, then create an agent.
            </Empty>
          ) : (
            <OwnerTable owners={all} />
          )
        }
      </Waiting>
      <NewOwner opened={opened} onClose={close} />
    </Page>
  )
}
