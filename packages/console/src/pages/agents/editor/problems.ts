/** Problems that the editor finds before the server does: missing values and invalid numbers. The server decides. Pure. */
import type { AgentValues } from './agent-values.ts'
import { limits, maxPrompt } from './limits.ts'

const decimal = /^\d{1,9}(\.\d{1,8})?$/

/** Returns the problems by the path of their field; empty if all are valid. */
export function problemsOf(values: AgentValues, kind: 'new' | 'present'): Record<string, string> {
  const { owner_id: ownerId, name, model, system_prompt: prompt, temperature } = values
  const found: [string, string | undefined][] = [
    ['owner_id', ownerId === null ? 'Choose an owner.' : undefined],
    ['name', name.trim() === '' ? 'Enter a name.' : undefined],
    ['system_prompt', lengthOf(prompt) > maxPrompt ? `Enter at most ${maxPrompt.toLocaleString()} characters.` : undefined],
    ['model.provider', model.provider === '' ? 'Choose a provider.' : undefined],
    ['model.id', model.id.trim() === '' ? 'Enter a model ID.' : undefined],
    ...problemsOfPrice(values),
    ...Object.entries(limits).map(([path, { least, most, of }]): [string, string | undefined] => {
      const value = of(values)
      if (value === '' && kind === 'new' && path === 'history.max_tokens') return [path, undefined]
      return [path, isWhole(value, least, most) ? undefined : `Enter a whole number from ${least} to ${most.toLocaleString()}.`]
    }),
    [
      'temperature',
      temperature === '' || isWithin(temperature, 0, 2) ? undefined : 'Enter a number from 0 to 2, or leave the field empty.',
    ],
    ['knowledge.embedding_model', problemOfEmbedding(values.knowledge.embedding_model.trim())],
  ]
  return Object.fromEntries(found.filter((one): one is [string, string] => one[1] !== undefined))
}

/** A missing price is left to the server, which may know one. */
function problemsOfPrice({ price }: AgentValues): [string, string | undefined][] {
  const texts = Object.entries(price).map(([name, text]): [string, string] => [`price.${name}`, text.trim()])
  if (texts.every(([, text]) => text === '')) return []
  return texts.map(([path, text]) => {
    if (text === '' && path.includes('cache')) return [path, undefined]
    if (text === '') return [path, 'Enter both prices, or leave both empty.']
    return [path, decimal.test(text) ? undefined : 'Enter dollars with up to 8 decimal places, such as 0.15.']
  })
}

const problemOfEmbedding = (model: string): string | undefined =>
  model === '' || /^[^/\s]+\/\S/.test(model) ? undefined : 'Enter <provider name>/<model ID>, or leave the field empty.'

const isWithin = (value: number | string, least: number, most: number): boolean =>
  value !== '' && Number(value) >= least && Number(value) <= most
const isWhole = (value: number | string, least: number, most: number): boolean =>
  isWithin(value, least, most) && Number.isInteger(Number(value))

/** Returns the length in code points, as the server counts. */
export function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}
