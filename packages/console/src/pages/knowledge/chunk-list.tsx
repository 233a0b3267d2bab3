/** The chunks of a document in its order, as searches find them. A search within them loads them all. */
import { Badge, Group, Mark, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { memo, useEffect, useMemo } from 'react'
import { useSearchParams } from 'wouter'
import { useList } from '../../api/lists.ts'
import type { Chunk, Document } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { writeCount } from '../../show/measures.ts'
import { MoreButton } from '../../show/more-button.tsx'
import { Waiting } from '../../show/waiting.tsx'

// Readable on one page. Fewer words find fewer.
const maxShown = 100

export function ChunkList({ path, document }: { path: string; document: Document }) {
  const [params, setParams] = useSearchParams()
  const wanted = params.get('find') ?? ''
  const isSearch = wanted.trim() !== ''
  const key = ['documents', document.agent_id, document.id, 'chunks', document.indexed_at]
  const list = useList<Chunk>(key, `${path}/chunks`, {}, { keepsAll: isSearch })
  const { items, first, more, query, loadMore, backToStart } = list
  // A search that starts in the middle of the list also has to find what is before it.
  const loadsNext = isSearch && (more || first > 0) && !query.isFetching && !query.isError
  useEffect(() => {
    if (loadsNext) (first > 0 ? backToStart : loadMore)()
  })
  const found = useMemo(
    () => (isSearch ? items.filter(({ section, text }) => holds(`${section ?? ''}\n${text}`, wanted)) : items),
    [isSearch, items, wanted],
  )
  const shown = isSearch ? found.slice(0, maxShown) : found
  return (
    <Stack component="section" aria-label="Chunks" gap="sm">
      <Group justify="space-between" align="flex-end" gap="sm">
        <Title order={2} size="h4">
          Chunks
        </Title>
        <TextInput
          aria-label="Find in this document"
          placeholder="Find in this document"
          leftSection={<IconSearch size={16} aria-hidden="true" />}
          value={wanted}
          onChange={(event) => setParams(event.currentTarget.value === '' ? {} : { find: event.currentTarget.value }, { replace: true })}
          w="100%"
          maw={280}
        />
      </Group>
      <Text size="sm" c="dimmed" aria-live="polite">
        {isSearch ? said(found.length, items.length, more) : ''}
      </Text>
      <Waiting for={query} what="the chunks">
        {() =>
          items.length === 0 ? (
            <Empty title="No chunks yet">Searches find this document when its status is ready.</Empty>
          ) : (
            <Stack gap="sm">
              {shown.map((chunk) => (
                <ChunkCard key={chunk.position} chunk={chunk} wanted={wanted.trim()} />
              ))}
              {isSearch ? null : <MoreButton list={list} />}
            </Stack>
          )
        }
      </Waiting>
    </Stack>
  )
}

const ChunkCard = memo(function ChunkCard({ chunk: { position, section, text }, wanted }: { chunk: Chunk; wanted: string }) {
  return (
    <Paper withBorder p="md">
      <Group gap="xs" mb="xs" justify="space-between">
        <Group gap="xs">
          <Badge variant="light" color="gray">
            {position + 1}
          </Badge>
          {section === undefined ? null : (
            <Text size="sm" fw={600} className="as-written">
              <Found text={section} wanted={wanted} />
            </Text>
          )}
        </Group>
        <Text size="xs" c="dimmed" className="figures">
          {writeCount(text.length)} characters
        </Text>
      </Group>
      <Text size="sm" className="as-written" lh={1.6} maw={760}>
        <Found text={text} wanted={wanted} />
      </Text>
    </Paper>
  )
})

/** The text with every occurrence marked. */
function Found({ text, wanted }: { text: string; wanted: string }) {
  if (wanted === '') return <>{text}</>
  const pieces: { at: number; text: string; marked: boolean }[] = []
  const folded = text.toLowerCase()
  // A letter whose lower case is longer would shift the positions: then nothing is marked.
  const needle = folded.length === text.length ? wanted.toLowerCase() : ''
  let at = 0
  for (let hit = needle === '' ? -1 : folded.indexOf(needle); hit >= 0; hit = folded.indexOf(needle, at)) {
    pieces.push({ at, text: text.slice(at, hit), marked: false }, { at: hit, text: text.slice(hit, hit + needle.length), marked: true })
    at = hit + needle.length
  }
  pieces.push({ at, text: text.slice(at), marked: false })
  return <>{pieces.map(({ at: from, text: piece, marked }) => (marked ? <Mark key={from}>{piece}</Mark> : piece))}</>
}

const holds = (text: string, wanted: string): boolean => text.toLowerCase().includes(wanted.trim().toLowerCase())

function said(found: number, loaded: number, more: boolean): string {
  const searched = more ? `Searching… ${writeCount(loaded)} chunks so far` : `Searched ${writeCount(loaded)} chunks`
  const shown = found > maxShown ? `, of which the first ${maxShown} are shown` : ''
  return `${searched}: ${found === 1 ? '1 contains' : `${writeCount(found)} contain`} the text${shown}.`
}
