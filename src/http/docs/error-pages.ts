/** Reads docs/errors for the reference page: one file per error code, with a table of facts at the top. Read once at startup. */
import { readFileSync } from 'node:fs'
import { failures } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'

export type ErrorPage = {
  code: FailureCode
  status: string
  retryAfter: string
  retryWith: string
  charged: string
  /** What the client libraries do before they throw, and what they throw. */
  clients: string
  /** The Markdown text below the facts. */
  text: string
}

const folder = new URL('../../../docs/errors/', import.meta.url)

/** Returns the pages in the order of src/errors.ts. Throws if a page or one of its facts is missing. */
export const readErrorPages = (): ErrorPage[] => (Object.keys(failures) as FailureCode[]).map(readErrorPage)

function readErrorPage(code: FailureCode): ErrorPage {
  const text = readFileSync(new URL(`${code}.md`, folder), 'utf8')
  const fact = (name: string): string => {
    const value = text.split('\n').find((line) => line.startsWith(`| ${name} | `))
    if (value === undefined) throw new Error(`docs/errors/${code}.md is missing the fact: ${name}`)
    return value.slice(`| ${name} | `.length, -' |'.length)
  }
  return {
    code,
    status: fact('status'),
    retryAfter: fact('`Retry-After`'),
    retryWith: fact('retry with'),
    charged: fact('charged'),
    clients: fact('clients'),
    text: text.slice(text.indexOf('\n## ') + 1),
  }
}
