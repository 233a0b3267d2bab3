/** Whether a provider keeps its server, and with it its stored API key: the key is not sent to another scheme, host or port. */

/**
 * `before`: the stored base URL, `now`: the text of the form. If either is empty, the default URL of the kind counts, which only the server
 * knows, so the server decides.
 */
export function movesToAnotherServer(before: string | null, now: string): boolean {
  const address = now.trim()
  if (before === null || address === '') return false
  return URL.parse(before)?.origin !== URL.parse(address)?.origin
}
