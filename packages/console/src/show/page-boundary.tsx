/** If a page crashes, or its files are no longer served because the server was updated, says so and keeps the rest usable. */
import { Button, Text } from '@mantine/core'
import { Component } from 'react'
import type { ReactNode } from 'react'
import { Page } from './page.tsx'

/** Tries again when `place` (the address) changes. */
type PageBoundaryProps = { place: string; children: ReactNode }

export class PageBoundary extends Component<PageBoundaryProps, { failed: boolean; place: string }> {
  override state = { failed: false, place: this.props.place }

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true }
  }

  static getDerivedStateFromProps({ place }: PageBoundaryProps, state: { place: string }): { failed: boolean; place: string } | null {
    return place === state.place ? null : { failed: false, place }
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children
    return (
      <Page title="This page could not be displayed">
        <Text>
          The server may have been upgraded since you opened the console. Reload the page; if the error persists, check the browser’s
          developer console.
        </Text>
        <div>
          <Button onClick={() => location.reload()}>Reload page</Button>
        </div>
      </Page>
    )
  }
}
