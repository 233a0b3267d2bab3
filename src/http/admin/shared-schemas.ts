/**
 * Schemas that the description of the admin API has once, with a name, and refers to. In the routes they are written out, because the plugin
 * that generates the description drops what is beside a reference. shareComponents replaces those that are equal.
 */
import { causeKinds } from '../../cause-kinds.ts'
import { PinnedTool } from './agents/agent-answers.ts'
import { Limits, NewLimits, SpendingAnswer, Warnings } from './agents/spend-limit-fields.ts'
import { Tools } from './agents/tools.ts'
import { AmountUsd, NextCursor, Price, PriceSource, Time, TimeOrNull } from './answer-fields.ts'
import { Name, wellFormed } from './fields.ts'
import { AgentRestriction, ExtraPermissions, OwnerRestriction } from './operator-answers.ts'
import { usageDetails } from './price-answers.ts'
import { RunUsage } from './trace-answers.ts'
import { FinishReason, ToolCall, TurnFailure, TurnUsage } from './turn-answers.ts'
import { Type } from '../edge/schema.ts'

const named = {
  Time,
  TimeOrNull,
  AmountUsd,
  Name,
  Id: wellFormed({ minLength: 1, maxLength: 100 }),
  NextCursor,
  Price,
  PriceSource,
  PromptTokensDetails: usageDetails.prompt_tokens_details,
  CompletionTokensDetails: usageDetails.completion_tokens_details,
  TurnUsage,
  TurnFailure,
  FinishReason,
  FinishedToolCall: ToolCall,
  RunUsage,
  CauseKind: Type.Enum([...causeKinds]),
  ToolList: Tools,
  PinnedTool,
  SpendLimits: Limits,
  NewSpendLimits: NewLimits,
  SpendLimitWarnings: Warnings,
  SpendWindow: SpendingAnswer,
  ExtraPermissions,
  OwnerRestriction,
  AgentRestriction,
}

export const sharedSchemas = Object.entries(named).map(([name, schema]) => ({ ...schema, $id: name }))
