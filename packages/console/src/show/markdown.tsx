/**
 * Texts of models and people as Markdown. The renderer is a quarter of the page's code and is loaded with the first text; until then the
 * plain text is shown.
 */
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
