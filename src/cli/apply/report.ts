/**
 * Reports the changes of a run on stdout, as lines of text or as one JSON object. Each change is written as soon as it is made, so that a
 * run that is interrupted never loses the secret of a new key.
 */
import type { Fields } from '../admin-api/client.ts'
import type { CommandRun } from '../command-run.ts'
import { jsonText, tell } from '../terminal/print.ts'
import type { Item, Plan } from './item.ts'
import { doneLine } from './show-plan.ts'

export type Report = {
  /** Call it first. From then on, if stdout is closed, the process reports that and exits with code 2. */
  begin(): void
  /** Reports a change. `secret` is set for a new key or webhook whose secret was not written to a file. Resolves when everything is written. */
  done(item: Item, answer: Fields, secret?: string): Promise<void>
  /** Ends the report. `applied` is true if every change was made. */
  end(applied: boolean): Promise<void>
}

/** `work` has the items to change, in order. */
export function createReport(run: CommandRun, { items, notes, reads }: Plan, work: Item[], { json }: { json: boolean }): Report {
  let onItsWay: string | undefined
  const written = new Set<Item>()

  async function hand(text: string, secret?: string): Promise<void> {
    onItsWay = secret
    const { promise: left, resolve } = Promise.withResolvers<void>()
    // If stdout fails, the process ends.
    run.stdout.write(text, (error) => void (error || resolve()))
    await left
    onItsWay = undefined
  }

  async function handChange(item: Item, done: boolean, secret?: string): Promise<void> {
    const begin = written.size === 0 ? '{"changes":[\n' : ',\n'
    written.add(item)
    await hand(`${begin}${jsonText(changeOf(item, done, secret))}`, secret)
  }

  return {
    begin() {
      // Other commands exit silently when the reader closes stdout. Here a secret could be lost, and changes would be left out silently.
      run.whenOutputFails = () => {
        tell(run, 'turnkeep: stopped midway: stdout was closed. Run the same command again to continue.')
        if (onItsWay !== undefined) tell(run, `Secret (shown only once):\n${onItsWay}`)
        return 2
      }
    },
    async done(item, answer, secret) {
      if (json) return handChange(item, true, secret)
      const id = item.id === undefined ? [] : [item.id]
      const version = item.kind === 'agent' && item.action === 'update' ? [`version ${String(answer['version'])}`] : []
      await hand(`${doneLine(item, [...id, ...version].join(', '))}\n`, secret)
      if (secret === undefined) return
      tell(run, `${secretName(item)} (shown only once):`)
      await hand(`${secret}\n`, secret)
    },
    async end(applied) {
      if (!json) return
      for (const item of work) if (!written.has(item)) await handChange(item, false)
      const rest = jsonText({ applied, unchanged: items.length - work.length, notes, reads })
      await hand(`${written.size === 0 ? '{"changes":[' : '\n'}],${rest.slice(1)}\n`)
    },
  }
}

const secretName = ({ kind }: Item): string => (kind === 'webhook' ? 'Signing secret' : 'API key')

function changeOf(item: Item, done: boolean, secret: string | undefined): Fields {
  const { action, kind, name, id, parent, fields } = item
  const agent = parent?.kind === 'agent' ? parent : undefined
  const owner = agent?.parent ?? (parent?.kind === 'owner' ? parent : undefined)
  return {
    action,
    kind,
    name,
    ...(owner ? { owner: owner.name } : {}),
    ...(agent ? { agent: agent.name } : {}),
    ...(id === undefined ? {} : { id }),
    fields,
    done,
    ...(secret === undefined ? {} : kind === 'webhook' ? { secret } : { api_key: secret }),
  }
}
