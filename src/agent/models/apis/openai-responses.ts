/** OpenAI's Responses API, through @ai-sdk/openai. */
import type { AiSdkProvider } from './ai-sdk.ts'
import { eventType } from '../transport/event-type.ts'

export const openaiResponses: AiSdkProvider = {
  name: 'openai',
  async open({ modelId, ...options }) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI(options).responses(modelId)
  },
  promptExcludesCache: false,
  isLast: eventType('response.completed', 'response.incomplete'),
  // Otherwise OpenAI stores each conversation for 30 days, out of reach of an erasure in Turnkeep.
  options: { store: false },
}
