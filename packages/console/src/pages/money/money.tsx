/** All owners: what each has, what running turns hold of it, and whose balance runs low. */
import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useOwners } from '../../api/lists.ts'
import { Empty } from '../../show/empty.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { NewOwner } from './new-owner.tsx'
import { OwnerTable } from './owner-table.tsx'

export function MoneyPage() {
  const owners = useOwners()
  const [opened, { open, close }] = useDisclosure()
  const create = <Button onClick={open}>Create an owner</Button>
  return (
    <Page
      title="Money"
      lead="An owner’s balance pays for the replies of its agents. While a turn runs, the most it may cost is held; what is left is available."
      actions={owners.data?.length ? create : null}
    >
      <Waiting for={owners} what="owners">
        {(all) =>
          all.length === 0 ? (
            <Empty title="No owner yet" action={create}>
              Every agent belongs to an owner, whose balance pays for its replies. Create one with an opening balance, then an agent.
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
