/** Google's Gemini API, through @ai-sdk/google. */
import type { AiSdkProvider } from './ai-sdk.ts'

export const googleGemini: AiSdkProvider = {
  name: 'google',
  async open({ modelId, ...options }) {
    const { createGoogle } = await import('@ai-sdk/google')
    return createGoogle(options)(modelId)
  },
  promptExcludesCache: false,
  // Usage may arrive in a separate event after the finish reason, so the stream only ends with its body.
  isLast: () => false,
}
