/** One snippet of code in each tab. */
import { Tabs, Text } from '@mantine/core'
import { CodeBlock } from '../../show/code-block.tsx'

/** `note`: shown above the code. */
export type Snippet = { id: string; label: string; text: string; note?: string | undefined }

export function SnippetTabs({ label: name, snippets }: { label: string; snippets: Snippet[] }) {
  return (
    <Tabs defaultValue={snippets[0]!.id} keepMounted={false}>
      <Tabs.List aria-label={name}>
        {snippets.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ id, label, text, note }) => (
        <Tabs.Panel key={id} value={id} pt="xs">
          {note === undefined ? null : <Text size="sm">{note}</Text>}
          <CodeBlock text={text} label={`${label} snippet`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
