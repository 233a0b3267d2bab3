/** The files of this visit: their progress, and why one was refused. */
import { Button, Group, Paper, Progress, Stack, Text } from '@mantine/core'
import { ApiFailure } from '../../api/client.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import type { Upload, Uploads } from './uploads.ts'

export function UploadList({ uploads }: { uploads: Uploads }) {
  const { all, retry, clear } = uploads
  if (all.length === 0) return null
  const open = all.filter(({ state }) => state === 'waiting' || state === 'sending').length
  return (
    <Paper withBorder p="md" component="section" aria-label="Uploads">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Text size="sm" aria-live="polite">
            {open > 0 ? `${all.length - open} of ${all.length} files processed` : summary(all)}
          </Text>
          {open < all.length ? (
            <Button size="xs" variant="default" onClick={clear}>
              Clear finished
            </Button>
          ) : null}
        </Group>
        <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
          {all.map((upload) => (
            <li key={upload.id}>
              <Line upload={upload} onRetry={() => retry(upload.id)} />
            </li>
          ))}
        </Stack>
      </Stack>
    </Paper>
  )
}

function Line({ upload: { file, state, progress, failure }, onRetry }: { upload: Upload; onRetry(): void }) {
  // All bytes were sent, and the server has not confirmed the file yet.
  const word = { waiting: 'Waiting', sending: progress === 100 ? 'Processing' : `${progress}%`, sent: 'Uploaded', failed: 'Failed' }[state]
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" className="as-written">
          {file.name}
        </Text>
        <Text size="sm" className="figures">
          {word}
        </Text>
      </Group>
      {state === 'failed' ? (
        <FailureNote error={failure} title={`Could not upload ${file.name}`} {...(isFinal(failure) ? {} : { onRetry })} />
      ) : (
        <Progress value={progress} aria-label={`Upload progress of ${file.name}`} />
      )}
    </Stack>
  )
}

/** The same file would be refused again. */
const isFinal = (failure: unknown): boolean => failure instanceof ApiFailure && (failure.status === 413 || failure.status === 422)

function summary(all: Upload[]): string {
  const failed = all.filter(({ state }) => state === 'failed').length
  const sent = all.length - failed
  const reported = `${sent === 1 ? '1 file' : `${sent} files`} uploaded${failed > 0 ? `, ${failed} failed` : ''}.`
  return sent > 0 ? `${reported} The list below shows when they are ready.` : reported
}
