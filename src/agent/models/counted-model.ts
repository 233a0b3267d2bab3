/** Wraps a model so that each call is counted in the metrics by its outcome. */
import type { Metrics } from '../../observability/metrics.ts'
import { ModelError } from './model.ts'
import type { Model } from './model.ts'

export const countedModel = (model: Model, metrics: Metrics): Model => ({
  async generate(request, call) {
    try {
      const step = await model.generate(request, call)
      metrics.modelCalled('answered')
      return step
    } catch (error) {
      metrics.modelCalled(call.signal.aborted ? 'stopped' : error instanceof ModelError ? error.kind : 'fault')
      throw error
    }
  },
})
