/**
 * The token of an invitation or a recovery link, which follows the `#` of the address and is therefore never sent with a request for a page. It
 * is removed from the address, so that it does not stay in the history of the browser.
 */
import { useEffect, useState } from 'react'

/** An empty text if the address has none. */
export function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1))
  useEffect(() => {
    if (location.hash !== '') history.replaceState(history.state, '', location.pathname + location.search)
  }, [])
  return token
}
