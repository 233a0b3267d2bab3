/** OpenAI's Responses API. @ai-sdk/openai writes its requests. */
import type { AiSdkProvider } from './ai-sdk.ts'
import { ResponsesAnswer } from './responses-answer.ts'

export const openaiResponses: AiSdkProvider = {
  name: 'openai',
  async open({ modelId, ...options }) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    return createOpenAI(options).responses(modelId)
  },
  reader: (options) => new ResponsesAnswer(options),
  // Otherwise OpenAI stores each conversation for 30 days, out of reach of an erasure in Turnkeep.
  options: { store: false },
}
