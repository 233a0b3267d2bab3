/**
 * A model, and a maker of vectors, with the failpoints of their calls: before each call, at each piece of text, after an answer. The action `drop`
 * ends a call as a network does that breaks. Changes nothing where no failpoint is named.
 */
import type { Failpoints } from '../../failpoints.ts'
import { ModelError } from './model.ts'
import type { Model } from './model.ts'
import type { Embed } from './models.ts'

/** `key` is the user's message. */
export function droppableModel(model: Model, failpoints: Failpoints, key: string): Model {
  if (failpoints.spec === '') return model
  return {
    async generate(request, call) {
      const { signal, drop } = droppable(call.signal)
      await failpoints.reach('model.before-call', key, drop)
      let begun = false
      return model.generate(request, {
        signal,
        onText(text) {
          if (!begun) failpoints.hit('model.first-delta', key, drop)
          begun = true
          failpoints.hit('model.delta', key, drop)
          call.onText(text)
        },
      })
    },
  }
}

export function droppableEmbed(embed: Embed, failpoints: Failpoints): Embed {
  if (failpoints.spec === '') return embed
  return async (modelId, texts, signal) => {
    const call = droppable(signal)
    await failpoints.reach('embed.before-call', undefined, call.drop)
    const vectors = await embed(modelId, texts, call.signal)
    await failpoints.reach('embed.after-call')
    return vectors
  }
}

/** A signal for one call of a provider that also ends when its connection is dropped: the call then rejects as for a network that broke. */
function droppable(signal: AbortSignal): { signal: AbortSignal; drop: () => void } {
  const connection = new AbortController()
  return {
    signal: AbortSignal.any([signal, connection.signal]),
    drop: () => connection.abort(new ModelError('unavailable', 'a failpoint dropped the connection to the provider')),
  }
}
