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
    edits: [edit('oneInWork - otherInWork || oneTurn - otherTurn', 'oneInWork - otherInWork')],
    caughtBy: { file: documents, title: 'knowledge.turns: owners take turns' },
  },
  {
    rule: 'knowledge.turns',
    removes: 'an owner with documents in work comes after the others',
    edits: [edit('oneInWork - otherInWork || oneTurn - otherTurn', 'oneTurn - otherTurn')],
    caughtBy: { file: documents, title: 'knowledge.turns: several processes that claim' },
  },
  {
    rule: 'knowledge.turns',
    removes: 'the indexer remembers whom it served',
    edits: [edit('claimDocument({ holder, leaseMs, served })', 'claimDocument({ holder, leaseMs })')],
    caughtBy: { file: 'documents-indexing.test.ts', title: 'knowledge.turns: a document that is added after fifty heavy ones' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'an owner that has used up its CPU time is left out',
    edits: [edit('!isPaused.has(first.ownerId) && (!known', '(!known')],
    caughtBy: { file: documents, title: 'knowledge.bounded: an owner whose documents have used up' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'the times of a window are added up',
    edits: [edit('indexing_windows.spent_ms + excluded.spent_ms end', 'excluded.spent_ms end')],
    caughtBy: { file: documents, title: 'knowledge.bounded: an owner whose documents have used up' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'the indexer counts the CPU time of a document',
    edits: [edit('if (lease.spentMs() > 0) await', 'if (lease.spentMs() < 0) await')],
    caughtBy: { file: 'documents-indexing.test.ts', title: 'knowledge.bounded: the documents of an owner wait' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'the queued documents of all agents of the owner are counted',
    edits: [edit('join agents a on a.owner_id = o.owner_id join documents', 'join agents a on a.id = o.id join documents')],
    caughtBy: { file: documents, title: 'knowledge.bounded: an owner has at most the allowed number' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'HTML that is nested too deeply is refused',
    edits: [
      edit('onopentagname: () => { if (++depth > maxDepth) throw tooDeep() }', 'onopentagname: () => { if (++depth < 0) throw tooDeep() }'),
    ],
    caughtBy: { file: 'unit/document-nesting.test.ts', title: 'knowledge.bounded: HTML is refused' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'XML that is nested too deeply is refused',
    edits: [edit("kind === 'open' && ++depth > maxDepth", "kind === 'open' && ++depth < 0")],
    caughtBy: { file: 'unit/document-nesting.test.ts', title: 'knowledge.bounded: XML is refused' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'omitted end tags are added',
    edits: [edit('pieces.push(html.slice(copied, start - 1), `</${found}>`)', 'pieces.push(html.slice(copied, start - 1))')],
    caughtBy: { file: 'unit/document-nesting.test.ts', title: 'knowledge.bounded: elements without end tags' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'a tag that never ends is read once',
    edits: [edit('return end === -1 ? [xml.length] : [end, tag]', 'return end === -1 ? [at + 1] : [end, tag]')],
    caughtBy: { file: 'unit/document-nesting.test.ts', title: 'knowledge.bounded: the tokens of any text' },
  },
  {
    rule: 'knowledge.bounded',
    removes: 'the CPU time of a document depends on its size',
    edits: [edit('Math.min(longestMs, timeOf(size))', 'longestMs')],
    caughtBy: { file: 'documents-heavy.test.ts', title: 'knowledge.bounded: a small file' },
  },
]
