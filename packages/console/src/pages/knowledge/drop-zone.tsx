/** A drop target for files with a button to choose them, which also works with the keyboard. */
import { Button, FileButton, Group, Paper, Text } from '@mantine/core'
import { useRef, useState } from 'react'
import type { DragEvent } from 'react'

/** The supported file types for a file picker. */
export const takenFiles = '.md,.markdown,.txt,.text,.html,.htm,.pdf,.docx'

export function DropZone({ onFiles }: { onFiles(files: readonly File[]): void }) {
  // A drag fires an event for each child that it leaves. Only the outermost one ends it.
  const depth = useRef(0)
  const [over, setOver] = useState(false)
  const moved = (by: number): void => {
    depth.current = Math.max(0, depth.current + by)
    setOver(depth.current > 0)
  }
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    depth.current = 0
    setOver(false)
    onFiles([...event.dataTransfer.files])
  }
  return (
    <Paper
      withBorder
      p="lg"
      role="group"
      aria-label="Drop files here"
      onDragEnter={(event) => {
        event.preventDefault()
        moved(1)
      }}
      onDragOver={(event) => event.preventDefault()}
      onDragLeave={() => moved(-1)}
      onDrop={onDrop}
      style={{ borderStyle: 'dashed', borderWidth: 2, ...(over ? { borderColor: 'var(--mantine-primary-color-filled)' } : {}) }}
    >
      <Group justify="space-between" gap="sm">
        <div>
          <Text fw={600}>{over ? 'Drop to upload' : 'Drop files here'}</Text>
          <Text size="sm" c="dimmed">
            md, txt, html, pdf, or docx, up to 20 MiB each
          </Text>
        </div>
        <FileButton multiple accept={takenFiles} onChange={onFiles}>
          {(props) => <Button {...props}>Choose files</Button>}
        </FileButton>
      </Group>
    </Paper>
  )
}
