/**
 * Adds failpoints to a model and to an embedding model: before each call, at each piece of text, and after an answer. The failpoint action
 * `drop` ends a call as a broken network would. Returns the model unchanged if no failpoints are set.
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
      let started = false
      return model.generate(request, {
        ...call,
        signal,
        onText(text) {
          if (!started) failpoints.hit('model.first-delta', key, drop)
          started = true
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

/** Returns a signal for one call, and a function that aborts it with the same error as a broken network connection. */
function droppable(signal: AbortSignal): { signal: AbortSignal; drop: () => void } {
  const connection = new AbortController()
  return {
    signal: AbortSignal.any([signal, connection.signal]),
    drop: () =>
      connection.abort(new ModelError('unavailable', 'provider_interrupted', 'a failpoint dropped the connection to the provider')),
  }
}
