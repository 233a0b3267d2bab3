/** Anthropic's Messages API, through @ai-sdk/anthropic. */
import type { AiSdkProvider } from './ai-sdk.ts'
import { eventType } from '../transport/event-type.ts'

export const anthropicMessages: AiSdkProvider = {
  name: 'anthropic',
  async open({ modelId, ...options }) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic(options)(modelId)
  },
  promptExcludesCache: true,
  isLast: eventType('message_stop'),
  // Streamed arguments are not validated as JSON by Anthropic, and nothing here reads them before they are complete.
  options: { toolStreaming: false },
}
