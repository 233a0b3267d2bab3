/** Texts of models and people, as Markdown. What reads it is a quarter of the page, and is loaded with the first text: until then it stands as written. */
import { Text } from '@mantine/core'
import { Suspense, lazy } from 'react'

const Rendered = lazy(() => import('./rendered-markdown.tsx').then(({ RenderedMarkdown: rendered }) => ({ default: rendered })))

export function Markdown({ text }: { text: string }) {
  return (
    <Suspense
      fallback={
        <Text component="div" className="as-written">
          {text}
        </Text>
      }
    >
      <Rendered text={text} />
    </Suspense>
  )
}
