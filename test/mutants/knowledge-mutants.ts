/** Mutants of the knowledge base: an agent must find only its own documents, and only their current text. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const serving =
  "const serving = 'chunks c join documents d on d.id = c.document_id and d.generation = c.generation and d.deleted_at is null'"
const ranked = 'join documents d on d.id = c.document_id and d.generation = c.generation and d.deleted_at is null\n       where'
const documents = 'store/knowledge-documents.test.ts'

export const knowledgeMutants: Mutant[] = [
  {
    rule: 'knowledge.own',
    removes: "an agent's words are marked with its number, and its chunks with its id",
    edits: [
      edit('`${number}:${term}`', '`${number > 0 ? 0 : 0}:${term}`'),
      edit('       where c.agent_id = $2 order by score desc', '       where $2 = $2 order by score desc'),
    ],
    caughtBy: { file: 'store/knowledge.test.ts', title: 'knowledge.own: an agent finds only its own passages' },
  },
  {
    rule: 'knowledge.serving',
    removes: 'a previous generation is hidden',
    edits: [
      edit(serving, serving.replace(' and d.generation = c.generation', '')),
      edit(ranked, ranked.replace(' and d.generation = c.generation', '')),
    ],
    caughtBy: { file: documents, title: 'knowledge.serving: the old text of a document is served while the new one is indexed' },
  },
  {
    rule: 'knowledge.serving',
    removes: 'a deleted document is hidden immediately',
    edits: [
      edit('content_id = null, generation = 0, chunks = 0,', 'content_id = null,'),
      edit(' and (deleted_at is null or generation = 0))', ')', { within: 'src/store/sqlite/' }),
      edit(serving, serving.replace(' and d.deleted_at is null', '')),
      edit(ranked, ranked.replace(' and d.deleted_at is null', '')),
    ],
    caughtBy: { file: documents, title: 'knowledge.serving: a deleted document is no longer found' },
  },
  {
    rule: 'knowledge.turns',
    removes: 'the owner that was served last comes last',
    edits: [edit('one.inWork - other.inWork || one.turn - other.turn', 'one.inWork - other.inWork')],
    caughtBy: { file: documents, title: 'knowledge.turns: owners take turns' },
  },
  {
    rule: 'knowledge.turns',
    removes: 'an owner with documents in work comes after the others',
    edits: [edit('one.inWork - other.inWork || one.turn - other.turn', 'one.turn - other.turn')],
    caughtBy: { file: documents, title: 'knowledge.turns: several processes that claim' },
  },
  {
    rule: 'knowledge.turns',
    removes: 'the indexer remembers whom it served',
    edits: [edit('claimDocument({ holder, leaseMs, served })', 'claimDocument({ holder, leaseMs })')],
    caughtBy: { file: 'documents-indexing.test.ts', title: 'knowledge.turns: a document that is added after fifty heavy ones' },
  },
]
