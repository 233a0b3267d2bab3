/** Anthropic's Messages API. @ai-sdk/anthropic writes its requests. */
import type { AiSdkProvider } from './ai-sdk.ts'
import { AnthropicAnswer } from './anthropic-answer.ts'

export const anthropicMessages: AiSdkProvider = {
  name: 'anthropic',
  async open({ modelId, ...options }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic(options)(modelId)
  },
  reader: (options) => new AnthropicAnswer(options),
  // Streamed arguments are not validated as JSON by Anthropic, and nothing here reads them before they are complete.
  options: { toolStreaming: false },
}
