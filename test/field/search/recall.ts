/**
 * Recall@5 of the search by words in nine languages: the help texts of a shop, a museum and a program, and questions about them, written by
 * hand for this purpose. A line of a file is `p` or `q`, the name of the passage, and the text.
 */
import { readFileSync } from 'node:fs'
import type { OwnStore } from '../../support/own-store.ts'
import { Bench } from '../../store/conformance.ts'

/** The names of the files, and the `knowledge.language` that an operator would choose. */
export const languages = {
  english: null,
  german: 'german',
  turkish: 'turkish',
  korean: 'none',
  japanese: 'none',
  thai: 'none',
  arabic: 'arabic',
  hebrew: 'none',
  chinese: 'none',
} as const

export type Recall = { language: keyof typeof languages; passages: number; questions: number; found: number; missed: string[] }

const shown = 5

export async function measureRecall(store: OwnStore, language: keyof typeof languages): Promise<Recall> {
  const lines = readFileSync(new URL(`${language}.tsv`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t') as [kind: string, name: string, text: string])
  const passages = lines.filter(([kind]) => kind === 'p')
  const questions = lines.filter(([kind]) => kind === 'q')
  const { agentId } = await Bench.make(store, 1n)
  await setLanguage(store, agentId, languages[language])
  const chunks = passages.map(([, , text]) => ({ headings: '', text }))
  await store.write.indexDocument({ documentId: `doc_${agentId}`, agentId, title: 'FAQ', text: '', chunks })
  const missed: string[] = []
  for (const [, name, query] of questions) {
    const found = await store.read.searchChunks({ agentId, query, limit: shown, languages: [languages[language]] })
    const right = passages.find(([, one]) => one === name)![2]
    if (!found.some(({ text }) => text === right)) missed.push(query)
  }
  return { language, passages: passages.length, questions: questions.length, found: questions.length - missed.length, missed }
}

export async function setLanguage(store: OwnStore, agentId: string, language: string | null): Promise<void> {
  const agent = (await store.read.findAgent(agentId))!
  const { id: _, agentId: __, version, createdAt: ___, ...content } = agent.present
  const next = { after: version, provider: null, content: { ...content, config: JSON.stringify({ language }) } }
  await store.write.changeAgent({ id: agentId, next })
}
