/** The passages that a reply was based on: document and section of each. */
import { Stack, Text, Title } from '@mantine/core'
import type { Message } from '../api/types.ts'

export function Citations({ citations }: { citations: Message['citations'] }) {
  // One document may provide several passages of one section, and the citations of a reply never change.
  const placed = citations.map((citation, index) => ({ ...citation, key: `${citation.document_id} ${index}` }))
  return (
    <Stack gap={4}>
      <Title order={3} size="h5">
        Passages
      </Title>
      {citations.length === 0 ? (
        <Text size="sm" c="dimmed">
          No passages were added to the prompt.
        </Text>
      ) : (
        <ol style={{ margin: 0, paddingInlineStart: 20, fontSize: 'var(--mantine-font-size-sm)' }}>
          {placed.map(({ key, title, section }) => (
            <li key={key}>
              <Text size="sm" className="as-written">
                {section ? `${title} › ${section}` : title}
              </Text>
            </li>
          ))}
        </ol>
      )}
    </Stack>
  )
}
