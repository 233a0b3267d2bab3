/** An address without a page. */
import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Page } from '../show/page.tsx'

export function Lost() {
  return (
    <Page title="Page not found" lead="The link may be outdated, or the item was deleted.">
      <Anchor component={Link} href="/">
        Go to the overview
      </Anchor>
    </Page>
  )
}
