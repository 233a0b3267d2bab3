/** OpenAI's Responses API, through @ai-sdk/openai. */
import type { Dialect } from './ai-sdk.ts'
import { eventType } from '../transport/event-type.ts'

export const openaiResponses: Dialect = {
  provider: 'openai',
  async open({ modelId, ...options }) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI(options).responses(modelId)
  },
  isLast: eventType('response.completed', 'response.incomplete'),
  // Otherwise OpenAI stores each conversation for 30 days, out of reach of an erasure in Turnkeep.
  options: { store: false },
}
