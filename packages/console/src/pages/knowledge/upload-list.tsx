/** The files of this visit: the progress of each and of all, why one was refused, and a summary at the end. */
import { Button, Group, Paper, Progress, Stack, Text } from '@mantine/core'
import { ApiFailure } from '../../api/client.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount } from '../../show/measures.ts'
import { isActive } from './uploads.ts'
import type { Upload, Uploads } from './uploads.ts'

// More lines than these are only counted, so that a folder of a thousand files stays fast.
const maxLines = 20

export function UploadList({ uploads }: { uploads: Uploads }) {
  const { all, skipped, active, retry, clear } = uploads
  if (all.length === 0 && skipped === 0) return null
  const retryable = all.filter(({ state, failure }) => state === 'failed' && !isFinal(failure))
  const lines = linesOf(all)
  return (
    <Paper withBorder p="md" component="section" aria-label="Uploads">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Text size="sm" fw={500} aria-live="polite">
            {active > 0 ? `${writeCount(all.length - active)} of ${writeCount(all.length)} files processed` : summary(all)}
            {skipped > 0 ? ` ${skippedText(skipped)}` : ''}
          </Text>
          <Group gap="xs">
            {active === 0 && retryable.length > 1 ? (
              <Button size="xs" variant="default" onClick={() => retry(retryable.map(({ id }) => id))}>
                Retry {writeCount(retryable.length)} failed
              </Button>
            ) : null}
            {active < all.length || all.length === 0 ? (
              <Button size="xs" variant="default" onClick={clear}>
                Clear finished
              </Button>
            ) : null}
          </Group>
        </Group>
        {all.length > 1 && active > 0 ? <Progress value={shareSent(all)} aria-label="Progress of all uploads" /> : null}
        <Stack component="ul" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
          {lines.map((upload) => (
            <li key={upload.id}>
              <Line upload={upload} onRetry={() => retry([upload.id])} />
            </li>
          ))}
        </Stack>
        {lines.length < all.length ? (
          <Text size="xs" c="dimmed">
            {writeCount(all.length - lines.length)} more files are not listed.
          </Text>
        ) : null}
      </Stack>
    </Paper>
  )
}

/** All of a few; of many, those that need attention first. */
function linesOf(all: Upload[]): Upload[] {
  if (all.length <= maxLines) return all
  const rank = { failed: 0, sending: 1, waiting: 2, sent: 3 }
  return all.toSorted((one, other) => rank[one.state] - rank[other.state]).slice(0, maxLines)
}

function Line({ upload: { file, state, progress, failure }, onRetry }: { upload: Upload; onRetry(): void }) {
  // All bytes were sent, and the server has not confirmed the file yet.
  const word = { waiting: 'Waiting', sending: progress === 100 ? 'Processing' : `${progress}%`, sent: 'Uploaded', failed: 'Failed' }[state]
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" className="as-written">
          {file.webkitRelativePath === '' ? file.name : file.webkitRelativePath}
        </Text>
        <Text size="sm" className="figures">
          {word}
        </Text>
      </Group>
      {state === 'failed' ? (
        <FailureNote error={failure} title={`Could not upload ${file.name}`} {...(isFinal(failure) ? {} : { onRetry })} />
      ) : (
        <Progress value={progress} size="xs" aria-label={`Upload progress of ${file.name}`} />
      )}
    </Stack>
  )
}

/** The same file would be refused again. */
const isFinal = (failure: unknown): boolean => failure instanceof ApiFailure && (failure.status === 413 || failure.status === 422)

/** A percentage by bytes. An empty file counts as one byte. */
function shareSent(all: Upload[]): number {
  const sizeOf = ({ file }: Upload): number => Math.max(1, file.size)
  const total = all.reduce((sum, upload) => sum + sizeOf(upload), 0)
  const sent = all.reduce((sum, upload) => sum + (isActive(upload) ? (sizeOf(upload) * upload.progress) / 100 : sizeOf(upload)), 0)
  return (100 * sent) / total
}

function summary(all: Upload[]): string {
  if (all.length === 0) return 'No files to upload.'
  const failed = all.filter(({ state }) => state === 'failed').length
  const sent = all.length - failed
  const reported = `${sent === 1 ? '1 file' : `${writeCount(sent)} files`} uploaded${failed > 0 ? `, ${writeCount(failed)} failed` : ''}.`
  return sent > 0 ? `${reported} The list below shows when they are ready.` : reported
}

const skippedText = (skipped: number): string =>
  `${skipped === 1 ? '1 file of the folder was' : `${writeCount(skipped)} files of the folder were`} skipped because their kind is not supported.`
