/** Mutants of the knowledge base: an agent must find only its own documents, and only their current text. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const search = 'src/store/queries/knowledge/knowledge.ts'
const serving =
  "const serving = 'chunks c join documents d on d.id = c.document_id and d.generation = c.generation and d.deleted_at is null'"
const ranked = 'join documents d on d.id = c.document_id and d.generation = c.generation and d.deleted_at is null\n       where'
const documents = 'store/knowledge-documents.test.ts'

export const knowledgeMutants: Mutant[] = [
  {
    rule: 'knowledge.own',
    removes: "an agent's words are marked with its number, and its chunks with its id",
    edits: [
      edit('src/store/queries/knowledge/terms.ts', '`${number}:${term}`', '`${number > 0 ? 0 : 0}:${term}`'),
      edit(search, '       where c.agent_id = $2 order by score desc', '       where $2 = $2 order by score desc'),
    ],
    caughtBy: { file: 'store/knowledge.test.ts', title: 'knowledge.own: an agent finds only its own passages' },
  },
  {
    rule: 'knowledge.serving',
    removes: 'a previous generation is hidden',
    edits: [
      edit(search, serving, serving.replace(' and d.generation = c.generation', '')),
      edit(search, ranked, ranked.replace(' and d.generation = c.generation', '')),
    ],
    caughtBy: { file: documents, title: 'knowledge.serving: the old text of a document is served while the new one is indexed' },
  },
  {
    rule: 'knowledge.serving',
    removes: 'a deleted document is hidden immediately',
    edits: [
      edit('src/store/queries/knowledge/documents.ts', 'content_id = null, generation = 0, chunks = 0,', 'content_id = null,'),
      edit('src/store/sqlite/migrations/0001-schema.sql', ' and (deleted_at is null or generation = 0))', ')'),
      edit(search, serving, serving.replace(' and d.deleted_at is null', '')),
      edit(search, ranked, ranked.replace(' and d.deleted_at is null', '')),
    ],
    caughtBy: { file: documents, title: 'knowledge.serving: a deleted document is no longer found' },
  },
]
