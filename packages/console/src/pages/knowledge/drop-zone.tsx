/** A drop target for files and folders with buttons to choose them, which also work with the keyboard. */
import { Button, FileButton, Group, Paper, Text } from '@mantine/core'
import { IconUpload } from '@tabler/icons-react'
import { useRef, useState } from 'react'
import type { DragEvent, ReactNode } from 'react'
import { droppedFiles, gather, takenFiles } from './dropped-files.ts'
import type { Gathered } from './dropped-files.ts'

/** `others`: other ways to add a document. */
export function DropZone({ onGathered, others }: { onGathered(gathered: Gathered): void; others: ReactNode }) {
  // A drag fires an event for each child that it leaves. Only the outermost one ends it.
  const depth = useRef(0)
  const folder = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const moved = (by: number): void => {
    depth.current = Math.max(0, depth.current + by)
    setOver(depth.current > 0)
  }
  const onDrop = (event: DragEvent): void => {
    event.preventDefault()
    depth.current = 0
    setOver(false)
    setProblem(null)
    droppedFiles(event.dataTransfer).then(onGathered, (error: unknown) =>
      setProblem(
        `The browser could not read the folder: ${error instanceof Error ? error.message : String(error)}. Choose its files instead.`,
      ),
    )
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
      className="drop-zone"
      data-over={over || undefined}
    >
      <Group justify="space-between" gap="sm">
        <Group gap="sm" wrap="nowrap">
          <IconUpload size={20} stroke={1.6} aria-hidden="true" />
          <div>
            <Text fw={600}>{over ? 'Drop to upload' : 'Drop files or a folder here'}</Text>
            <Text size="sm" c="dimmed">
              md, txt, html, pdf, or docx, up to 20 MiB each
            </Text>
          </div>
        </Group>
        <Group gap="xs">
          <FileButton multiple accept={takenFiles} onChange={(files) => onGathered({ files, skipped: 0 })}>
            {(props) => <Button {...props}>Choose files</Button>}
          </FileButton>
          <Button variant="default" onClick={() => folder.current?.click()}>
            Choose folder
          </Button>
          <input
            ref={folder}
            type="file"
            hidden
            aria-label="Folder"
            {...{ webkitdirectory: '' }}
            onChange={({ currentTarget }) => {
              onGathered(gather([...(currentTarget.files ?? [])]))
              // The same folder can be chosen again.
              currentTarget.value = ''
            }}
          />
          {others}
        </Group>
      </Group>
      {problem ? (
        <Text size="sm" c="red" role="alert" mt="sm">
          {problem}
        </Text>
      ) : null}
    </Paper>
  )
}
