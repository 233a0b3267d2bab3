/** Why a request failed, in the server's words, with the request ID and a retry button if that makes sense. */
import { Alert, Button, Group, Text } from '@mantine/core'
import { ApiFailure } from '../api/client.ts'

export function FailureNote({ error, title = 'Request failed', onRetry }: { error: unknown; title?: string; onRetry?: () => void }) {
  if (!error) return null
  const failure = error instanceof ApiFailure ? error : undefined
  const isForbidden = failure?.needsPermission ?? false
  return (
    <Alert color="red" title={isForbidden ? 'You may not do this' : title} role="alert" variant="light">
      <Text size="sm" className="as-written">
        {failure
          ? failure.message
          : typeof error === 'string'
            ? error
            : 'The console hit an unexpected error. Reload the page; if the error persists, check the browser’s developer console.'}
      </Text>
      {isForbidden ? <Text size="sm">Ask an admin if you need it.</Text> : null}
      {failure && failure.status >= 500 && onRetry ? (
        <Text size="sm">Retry. If it fails again, search the server’s log for the request ID, and check the Status page.</Text>
      ) : null}
      {failure?.retryAfterSeconds ? <Text size="sm">Try again in {failure.retryAfterSeconds} seconds.</Text> : null}
      {failure?.requestId ? (
        <Text size="xs" c="dimmed" mt={4}>
          {failure.code} · Request ID {failure.requestId}
        </Text>
      ) : null}
      {onRetry ? (
        <Group mt="xs">
          <Button size="xs" variant="default" onClick={onRetry}>
            Retry
          </Button>
        </Group>
      ) : null}
    </Alert>
  )
}
