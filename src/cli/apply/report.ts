/**
 * How a run tells on stdout what it has done: a line for a person, or one JSON object. Either leaves piece by piece, as things are done, so that
 * a run that is cut off has not lost the secret of a key. Asks no server.
 */
import type { Fields } from '../admin-api/client.ts'
import { jsonText, tell } from '../terminal/print.ts'
import type { Item, Plan } from './item.ts'
import { doneLine } from './show-plan.ts'

export type Report = {
  /** From here on somebody who closes stdout ends the run, with code 1 and in words. */
  begin(): void
  /** `secret`: of a new key, which stands in no file. Has left when this answers. */
  done(item: Item, answer: Fields, secret?: string): Promise<void>
  /** After the last one. `applied`: everything was done. */
  end(applied: boolean): Promise<void>
}

/** `work`: what is to be done, in its order. */
export function createReport({ items, notes }: Plan, work: Item[], { json }: { json: boolean }): Report {
  let onItsWay: string | undefined
  const written = new Set<Item>()

  async function hand(text: string, secret?: string): Promise<void> {
    onItsWay = secret
    const { promise: left, resolve } = Promise.withResolvers<void>()
    // Where stdout fails, its listener ends the run.
    process.stdout.write(text, (error) => void (error || resolve()))
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
      // Of a list the reader may have had enough; here a secret could be lost, and what is left to do would be left without a word.
      process.stdout.prependListener('error', () => {
        tell('turnkeep: stdout was closed, so this stopped in the middle. The same command again goes on from there.')
        if (onItsWay !== undefined) tell(`The key, shown this once:\n${onItsWay}`)
        process.exit(1)
      })
    },
    async done(item, answer, secret) {
      if (json) return handChange(item, true, secret)
      const id = item.id === undefined ? [] : [item.id]
      const version = item.kind === 'agent' && item.action === 'update' ? [`version ${String(answer['version'])}`] : []
      await hand(`${doneLine(item, [...id, ...version].join(', '))}\n`, secret)
      if (secret === undefined) return
      tell(`The key, shown this once:`)
      await hand(`${secret}\n`, secret)
    },
    async end(applied) {
      if (!json) return
      for (const item of work) if (!written.has(item)) await handChange(item, false)
      const rest = jsonText({ applied, unchanged: items.length - work.length, notes })
      await hand(`${written.size === 0 ? '{"changes":[' : '\n'}],${rest.slice(1)}\n`)
    },
  }
}

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
    ...(secret === undefined ? {} : { api_key: secret }),
  }
}
