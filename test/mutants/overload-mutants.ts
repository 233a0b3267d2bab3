/** Mutants of overload protection: who gets a slot, what waits, and that every slot is released. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const turn = 'src/turn/turn.ts'
const places = 'src/turn/concurrency-limiter.ts'
const flood = 'overload.queue: the queue is bounded: the rest of a flood is refused immediately'

export const overloadMutants: Mutant[] = [
  {
    rule: 'overload.places',
    removes: 'an owner leaves something for others',
    edits: [edit(places, 'return occupied < timesFree * (this.free - 1)', 'return this.free > 0')],
    caughtBy: {
      file: 'unit/concurrency-limiter.test.ts',
      title: 'overload.places: two flooding owners get nearly half each, ten nearly a tenth',
    },
  },
  {
    rule: 'overload.places',
    removes: 'the last slot is for an owner that holds none',
    edits: [edit(places, 'timesFree * (this.free - 1)', 'timesFree * this.free')],
    caughtBy: {
      file: 'unit/concurrency-limiter.test.ts',
      title: 'overload.places: an owner takes nine tenths of the slots, also when it is alone',
    },
  },
  {
    rule: 'overload.places',
    removes: 'the end of a turn gives its place back',
    edits: [edit(turn, '      release()\n')],
    caughtBy: { file: 'unit/overload.test.ts', title: 'overload.places: a slot is released by every end of an admission and of a turn' },
  },
  {
    rule: 'overload.places',
    removes: 'a refused admission gives its place back',
    edits: [edit(turn, '      if (!isRunning) release()\n')],
    caughtBy: { file: 'unit/overload.test.ts', title: 'overload.places: a slot is released by every end of an admission and of a turn' },
  },
  {
    rule: 'overload.queue',
    removes: 'the bound of those who ask for what is stored',
    edits: [edit(turn, 'slot ?? lookUps.take(request.shareOf)', 'slot ?? lookUps.takeAnyway()')],
    caughtBy: { file: 'unit/overload.test.ts', title: flood },
  },
  {
    rule: 'overload.queue',
    removes: 'a full process answers what is stored',
    edits: [edit(turn, 'slot ?? lookUps.take(request.shareOf)', 'slot')],
    caughtBy: { file: 'spec/overload.test.ts', title: 'overload.queue: a flood at a full process is 503 with Retry-After' },
  },
  {
    rule: 'overload.queue',
    removes: 'owners take turns where more wait than a batch holds',
    edits: [edit('src/turn/batcher.ts', 'this.#waiting.length > this.#limit ? byTurns(this.#waiting) : this.#waiting', 'this.#waiting')],
    caughtBy: { file: 'unit/batcher.test.ts', title: 'overload.queue: if more items wait than a batch holds, owners take turns' },
  },
]
