/**
 * Texts of models and people as Markdown. HTML is not rendered. Links open in a new tab without an opener, and only with http, https and
 * mailto. Images are not loaded, because that would tell their server who reads; a link is shown instead. Headings are one level below the
 * page's own.
 */
import { Anchor, Typography } from '@mantine/core'
import ReactMarkdown from 'react-markdown'
import type { Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'

const components: Components = {
  a: ({ href, children }) => <Outside href={href}>{children}</Outside>,
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  img: ({ src, alt }) => <Outside href={typeof src === 'string' ? src : undefined}>{alt || 'image'}</Outside>,
}

function Outside({ href, children }: { href: string | undefined; children?: React.ReactNode }) {
  if (!href || !/^(https?:|mailto:)/i.test(href)) return <>{children}</>
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" underline="always">
      {children}
    </Anchor>
  )
}

export function RenderedMarkdown({ text }: { text: string }) {
  return (
    <Typography className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} components={components} skipHtml>
        {text}
      </ReactMarkdown>
    </Typography>
  )
}
