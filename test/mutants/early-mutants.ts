/** Mutants of runs that start before their admission is durable. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const rule = 'turn.durable-first'
const unit = 'unit/early-run.test.ts'
const sqlite = 'store/sqlite-early.test.ts'
const postgres = 'store/postgres-early.test.ts'
const waits = 'turn.durable-first: the model is called while the admission is flushed'
const takenBack = 'turn.durable-first: an admission that was not stored aborts its model call'
const group = 'turn.durable-first sqlite: a group with an error, with an operator’s change or with the last exchange reports nothing early'

export const earlyMutants: Mutant[] = [
  {
    rule,
    removes: 'a write of a turn, and so a tool call, waits until its admission is durable',
    edits: [edit('    if (!(await turn.durable)) return undefined\n')],
    caughtBy: { file: unit, title: waits },
  },
  {
    rule,
    removes: 'no caller has a turn that is only reported early',
    edits: [edit('        one.onEarly?.(outcome)\n', '        one.onEarly?.(outcome)\n        one.resolve(outcome)\n')],
    caughtBy: { file: unit, title: waits },
  },
  {
    rule,
    removes: 'the caller of an early run gets the deltas as the model has sent them',
    edits: [edit('    if (this.#held) this.#held.push(delta)\n    else this.#text.append(delta)\n', '    this.#text.append(delta)\n')],
    caughtBy: { file: unit, title: waits },
  },
  {
    rule,
    removes: 'an admission that was not stored aborts its run',
    edits: [edit('      early?.withdraw()\n')],
    caughtBy: { file: unit, title: takenBack },
  },
  {
    rule,
    removes: 'a run counts only with the transaction that reported it',
    edits: [edit('this.#hasEnded || final !== this.#reported', 'this.#hasEnded || !final')],
    caughtBy: { file: unit, title: 'turn.durable-first: an admission that another transaction stores runs again from the start' },
    symptom: 'hang',
  },
  {
    rule,
    removes: 'while admissions are not stored, a model is not called for each of them',
    edits: [edit(' || (this.#isFailing && performance.now() < this.#nextAt)')],
    caughtBy: { file: unit, title: 'turn.durable-first: after a void run none starts early for a while' },
  },
  {
    rule,
    removes: 'a drain that gives up aborts the runs whose admission is not durable',
    edits: [edit('    earlyRuns.stop()\n', '', { at: 'turn.durable-first' })],
    caughtBy: {
      file: unit,
      title: 'turn.durable-first: an admission that commits after the drain has ended leaves its turn to another process',
    },
  },
  {
    rule,
    removes: 'no run starts after a drain has given up',
    edits: [edit('        if (abandoned) return releaseLeases([outcome.turn])\n')],
    caughtBy: {
      file: unit,
      title: 'turn.durable-first: an admission that commits after the drain has ended leaves its turn to another process',
    },
  },
  {
    rule,
    removes: 'an admission is reported before its commit and not after it',
    edits: [
      edit(
        "      reportEarly?.()\n      return this.#db.exec('commit')\n",
        "      this.#db.exec('commit')\n      return reportEarly?.()\n",
      ),
    ],
    caughtBy: { file: sqlite, title: 'turn.durable-first sqlite: admissions are reported before their commit' },
  },
  {
    rule,
    removes: "an admission beside an operator's change is not reported early",
    edits: [edit("  if (items.some(({ operation }) => operation === 'write')) return []\n")],
    caughtBy: { file: sqlite, title: group },
  },
  {
    rule,
    removes: 'an admission whose history is in the same commit is not reported early',
    edits: [edit(' || settled.has(admission.turn.conversationId)) continue', ') continue')],
    caughtBy: { file: sqlite, title: group },
  },
  {
    rule,
    removes: 'an admission that is written again is another one',
    edits: [
      edit(
        '      const value = await this.#operate(item)\n      keep(item, { value })\n',
        '      const value = await this.#operate(item)\n      Object.assign(item.answer.outcomes[item.index] ?? keep(item, { value }) ?? {}, { value })\n',
      ),
    ],
    caughtBy: { file: sqlite, title: 'turn.durable-first fault.sqlite-disk-full sqlite: a commit that fails takes back what was reported' },
  },
  {
    rule,
    removes: 'on PostgreSQL an admission is reported before its commit',
    edits: [edit('    connection.flush()\n', '', { at: 'turn.durable-first-2' })],
    caughtBy: { file: postgres, title: 'turn.durable-first postgres: an admission is reported while its commit waits for the disk' },
  },
  {
    rule,
    removes: 'on PostgreSQL a repeated admission is another one',
    edits: [
      edit(
        'const final = answers === reported?.answers ? reported.outcomes : readAll(answers)',
        'const final = reported?.outcomes ?? readAll(answers)',
      ),
    ],
    caughtBy: { file: postgres, title: 'turn.durable-first fault.commit-reply-lost postgres: a commit whose answer is lost' },
  },
]
