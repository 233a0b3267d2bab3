/**
 * Sync and streamed turns with 1 to 1,024 callers and a model that answers immediately: the cost of the server itself, beside peers.
 */
import { startContenders } from '../contenders.ts'
import type { Bench, Finding, Mode, Plot, Row, Scenario, Target } from '../scenario.ts'
import { sideBySide } from '../side-by-side.ts'
import { headings } from '../spread.ts'

const callerCounts = [1, 16, 64, 256]
// Without peers, some of which then do not answer in time.
const callersOfUs = 1024
// The limit is 1,000 by default.
const maxTurns = 2_000

export const sync: Scenario = {
  name: 'sync',
  sentence: 'Whole answers of 50 tokens from a model that answers at once; every turn begins a conversation.',
  run: (bench) => compare(bench, 'sync'),
}

export const stream: Scenario = {
  name: 'stream',
  sentence: 'The same as event streams: the model writes its 50 chunks at once.',
  run: (bench) => compare(bench, 'stream'),
}

async function compare(bench: Bench, mode: Mode): Promise<Finding> {
  const { servers, contenders, notes } = await startContenders(bench, { env: { TURNKEEP_MAX_TURNS: String(maxTurns) } })
  const able = contenders.filter(({ modes }) => modes.includes(mode)).map(({ target }) => target)
  const rows: Row[] = []
  async function measure(targets: Target[], callers: number): Promise<void> {
    const spec = (target: Target) => ({ calls: [target.call(mode)], callers, seconds: bench.seconds })
    const lanes = targets.map((target) => ({ labels: { server: target.name, callers }, target, spec: spec(target) }))
    rows.push(...(await sideBySide(bench, lanes)))
    bench.say(`${mode}: ${callers} callers done`)
  }
  for (const callers of bench.quick ? [16] : callerCounts) await measure(able, callers)
  if (!bench.quick) await measure([await bench.upstream(), ...servers], callersOfUs)
  for (const server of servers) await bench.audit(server)
  return { rows, notes, plots: plotsOf(rows, mode) }
}

function plotsOf(rows: Row[], mode: Mode): Plot[] {
  // The model itself is the upper bound, and would make the other bars too small.
  const shown = rows.filter(({ labels }) => labels['server'] !== 'the model itself')
  const plot = (figure: string, file: string, title: string): Plot => ({
    file,
    title,
    x: 'callers',
    y: figure,
    kind: 'lines',
    series: [...new Set(shown.map(({ labels }) => String(labels['server'])))].map((name) => ({
      name,
      points: shown
        .filter(({ labels }) => labels['server'] === name)
        .map(({ labels, figures }) => ({ x: labels['callers']!, y: figures[figure]! })),
    })),
  })
  const kind = mode === 'sync' ? 'Sync turns' : 'Streamed turns of 50 chunks'
  return [plot(headings.rate, `${mode}-rate`, `${kind} a second`), plot(headings.cpu, `${mode}-cpu`, `${kind}: the server's CPU`)]
}
