/** The numeric settings of an agent: the server's bounds, the initial values, and one sentence about each. */
import { boundsOf } from '../../../api/agent-settings.ts'
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

function limit(name: LimitName, label: string, help: string, of: Limit['of']): Limit {
  const { initial, ...bounds } = boundsOf(name)
  return { label, ...bounds, help: `${help} Default ${initial.toLocaleString('en-US')}.`, of }
}

export const limits: Record<LimitName, Limit> = {
  max_output_tokens: limit(
    'max_output_tokens',
    'Max output tokens',
    'Limits the length of each model response and counts toward the hold of a turn.',
    (values) => values.max_output_tokens,
  ),
  max_steps: limit(
    'max_steps',
    'Max steps',
    'Limits the model calls in a turn. A turn that still calls tools in its last step fails.',
    (values) => values.max_steps,
  ),
  max_tool_calls: limit(
    'max_tool_calls',
    'Max tool calls',
    'Limits the tool calls in a turn. Further calls return an error to the model.',
    (values) => values.max_tool_calls,
  ),
  max_message_length: limit(
    'max_message_length',
    'Max message length (characters)',
    'Longer messages are rejected and not charged.',
    (values) => values.max_message_length,
  ),
  'history.max_tokens': limit(
    'history.max_tokens',
    'Max history tokens',
    'Limits how much of the conversation is sent to the model, newest exchanges first. 0 sends no history.',
    (values) => values.history.max_tokens,
  ),
  'knowledge.max_tokens': limit(
    'knowledge.max_tokens',
    'Max passage tokens',
    'Limits the passages in each prompt. With 0, the model can still use the search_knowledge tool.',
    (values) => values.knowledge.max_tokens,
  ),
  'knowledge.top_k': limit(
    'knowledge.top_k',
    'Max passages',
    'Limits how many passages are retrieved for each message, best match first.',
    (values) => values.knowledge.top_k,
  ),
}

export const maxPrompt = boundsOf('system_prompt').most
