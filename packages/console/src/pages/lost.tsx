/** An address that is none. */
import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Page } from '../show/page.tsx'

export function Lost() {
  return (
    <Page title="There is no such page" lead="The address may be old, or what it showed was deleted.">
      <Anchor component={Link} href="/">
        To the beginning
      </Anchor>
    </Page>
  )
}
