/** The numbers of an agent: their bounds as the server has them, what they are where nothing is said, and what they do, in a sentence. */
import type { AgentValues } from './agent-values.ts'

export type Limit = { label: string; least: number; most: number; help: string; of(values: AgentValues): number | string }

export type LimitName =
  | 'max_output_tokens'
  | 'max_steps'
  | 'max_tool_calls'
  | 'max_message_length'
  | 'history.max_tokens'
  | 'knowledge.max_tokens'
  | 'knowledge.top_k'

export const limits: Record<LimitName, Limit> = {
  max_output_tokens: {
    label: 'Longest answer in tokens',
    least: 1,
    most: 200_000,
    help: 'Where an answer of the model is cut. It is part of what is held from the balance while a turn runs. Default 2,048.',
    of: (values) => values.max_output_tokens,
  },
  max_steps: {
    label: 'Most steps',
    least: 1,
    most: 32,
    help: 'Calls of the model within one turn. A turn that still asks for tools in the last one fails. Default 8.',
    of: (values) => values.max_steps,
  },
  max_tool_calls: {
    label: 'Most tool calls',
    least: 0,
    most: 128,
    help: 'Within one turn; what goes beyond is answered to the model as an error. Default 16.',
    of: (values) => values.max_tool_calls,
  },
  max_message_length: {
    label: 'Longest message in characters',
    least: 1,
    most: 1_000_000,
    help: 'A longer message of an external user is refused, and nothing is charged. Default 32,000.',
    of: (values) => values.max_message_length,
  },
  'history.max_tokens': {
    label: 'History in tokens',
    least: 0,
    most: 800_000,
    help: 'How much of the conversation so far the model is shown, the newest exchanges first. 0: none. Default 8,000.',
    of: (values) => values.history.max_tokens,
  },
  'knowledge.max_tokens': {
    label: 'Passages in tokens',
    least: 0,
    most: 100_000,
    help: 'How much of the knowledge base stands in each prompt. 0: none, the model may still search by a tool. Default 1,500.',
    of: (values) => values.knowledge.max_tokens,
  },
  'knowledge.top_k': {
    label: 'Most passages',
    least: 0,
    most: 50,
    help: 'How many passages are looked for, the best first. Default 6.',
    of: (values) => values.knowledge.top_k,
  },
}

export const longestPrompt = 100_000
