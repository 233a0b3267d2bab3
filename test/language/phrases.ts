/**
 * Phrases that this repository does not use, each with what to write instead. `left` is how many places still have it: the number may only
 * fall, and the entry keeps its place when it reaches 0.
 */
export type Phrase = { pattern: RegExp; instead: string; left: number }

export const phrases: Phrase[] = [
  { pattern: /\bstands? (in|at)\b(?! for)/i, instead: 'is in, is at', left: 1 },
  { pattern: /\btold\b|\btells? of\b/i, instead: 'log, notify, report, return', left: 9 },
  { pattern: /\banew\b/i, instead: 'again; or rebuild, reload, regenerate', left: 1 },
  { pattern: /\bmend(s|ed|ing)?\b/i, instead: 'fix, fixed; no problems found', left: 2 },
  { pattern: /\bis none\b|\bwhat is no\b/, instead: 'is not; for example "invalid JSON"', left: 16 },
  { pattern: /\b(so|of so) many\b/i, instead: 'up to N, page size', left: 1 },
  { pattern: /\b(nobody|somebody)('s)?\b/i, instead: 'no one, another process; usually the name of the actor', left: 38 },
  { pattern: /\b(faults?|errors?) of ours\b|\bby our fault\b/i, instead: 'internal error', left: 0 },
  { pattern: /\busual troubles?\b/i, instead: 'common problems', left: 0 },
  { pattern: /\b(bring|brings|bringing|brought) about\b/i, instead: 'apply, create or update', left: 0 },
  { pattern: /\bmov(e|es|ing) house\b/i, instead: 'migrate to PostgreSQL', left: 0 },
  { pattern: /\bformer\b/i, instead: 'previous, old', left: 1 },
  { pattern: /\b(spoken|speech)\b/i, instead: 'chat, generate, reply', left: 0 },
  { pattern: /\bbegun\b/i, instead: 'started', left: 0 },
  { pattern: /\bdoors?\b/i, instead: 'HTTP layer, edge', left: 1 },
  { pattern: /\b(rooms|houses?)\b|\b(this|other|every|no|the|a) room\b/i, instead: 'module, package, architecture', left: 23 },
  { pattern: /\blives\b(?! in)/i, instead: 'process run, restart; or is, runs', left: 26 },
  { pattern: /\blook(s|ed|ing)? after\b/i, instead: 'maintain, inspect', left: 0 },
  { pattern: /\bown dates\b/i, instead: 'custom range', left: 0 },
  { pattern: /\bnothing of this in\b/i, instead: 'no data in this range', left: 0 },
  { pattern: /\b\d+ of 100 within\b/i, instead: 'p95 1.9 s', left: 0 },
  { pattern: /\bwhat can be done\b/i, instead: 'actions', left: 0 },
  { pattern: /\bonly reads\b|\breads only\b/i, instead: 'read-only', left: 1 },
  { pattern: /\bI doubt it\b/i, instead: 'guarantees and how they are tested', left: 0 },
  {
    pattern: /\bspecification,? section\b|\brulings?\b|\bsurfaces:|\bsections? \d/i,
    instead: 'a rule of docs/rules.md, or a link into docs/',
    left: 0,
  },
  { pattern: /\brows? \d/i, instead: 'a rule, or a fault of docs/fault-matrix.md', left: 1 },
]
