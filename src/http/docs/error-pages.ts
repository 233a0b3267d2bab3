/** docs/errors as the reference shows it: one page a code of the failure table, and the facts at its head. Read once, when the door opens. */
import { readFileSync } from 'node:fs'
import { failures } from '../../errors.ts'
import type { FailureCode } from '../../errors.ts'

export type ErrorPage = {
  code: FailureCode
  status: string
  retryAfter: string
  retryWith: string
  charged: string
  /** What the clients throw, and what they do before by themselves. */
  clients: string
  /** Markdown below the facts. */
  text: string
}

const folder = new URL('../../../docs/errors/', import.meta.url)

/** In the order of the failure table. Throws where a page is missing or has no facts. */
export const readErrorPages = (): ErrorPage[] => (Object.keys(failures) as FailureCode[]).map(readErrorPage)

function readErrorPage(code: FailureCode): ErrorPage {
  const text = readFileSync(new URL(`${code}.md`, folder), 'utf8')
  const fact = (name: string): string => {
    const value = text.split('\n').find((line) => line.startsWith(`| ${name} | `))
    if (value === undefined) throw new Error(`docs/errors/${code}.md does not say: ${name}`)
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
