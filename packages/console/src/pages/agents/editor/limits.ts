/** The numeric settings of an agent: the server's limits, the defaults, and one sentence about each. */
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
    label: 'Max output tokens',
    least: 1,
    most: 200_000,
    help: 'Limits the length of each model response and counts toward the hold of a turn. Default 2,048.',
    of: (values) => values.max_output_tokens,
  },
  max_steps: {
    label: 'Max steps',
    least: 1,
    most: 32,
    help: 'Limits the model calls in a turn. A turn that still calls tools in its last step fails. Default 8.',
    of: (values) => values.max_steps,
  },
  max_tool_calls: {
    label: 'Max tool calls',
    least: 0,
    most: 128,
    help: 'Limits the tool calls in a turn. Further calls return an error to the model. Default 16.',
    of: (values) => values.max_tool_calls,
  },
  max_message_length: {
    label: 'Max message length (characters)',
    least: 1,
    most: 1_000_000,
    help: 'Longer messages are rejected and not charged. Default 32,000.',
    of: (values) => values.max_message_length,
  },
  'history.max_tokens': {
    label: 'Max history tokens',
    least: 0,
    most: 800_000,
    help: 'Limits how much of the conversation is sent to the model, newest exchanges first. 0 sends no history. Default 8,000.',
    of: (values) => values.history.max_tokens,
  },
  'knowledge.max_tokens': {
    label: 'Max passage tokens',
    least: 0,
    most: 100_000,
    help: 'Limits the passages in each prompt. With 0, the model can still use the search_knowledge tool. Default 1,500.',
    of: (values) => values.knowledge.max_tokens,
  },
  'knowledge.top_k': {
    label: 'Max passages',
    least: 0,
    most: 50,
    help: 'Limits how many passages are retrieved for each message, best match first. Default 6.',
    of: (values) => values.knowledge.top_k,
  },
}

export const maxPrompt = 100_000
