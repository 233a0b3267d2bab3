/** Every mutant, in the order of the modules. Add a new one to one of these lists. */
import { accessMutants } from './access-mutants.ts'
import { admissionMutants } from './admission-mutants.ts'
import { auditMutants } from './audit-mutants.ts'
import { constraintMutants } from './constraint-mutants.ts'
import { earlyMutants } from './early-mutants.ts'
import { httpLayerMutants } from './http-mutants.ts'
import { endingMutants } from './ending-mutants.ts'
import { erasureMutants } from './erasure-mutants.ts'
import { knowledgeMutants } from './knowledge-mutants.ts'
import { loopMutants } from './loop-mutants.ts'
import { mcpMutants } from './mcp-mutants.ts'
import type { Mutant } from './mutant.ts'
import { operatorMutants } from './operator-mutants.ts'
import { openAiMutants } from './openai-mutants.ts'
import { overloadMutants } from './overload-mutants.ts'
import { postgresMutants } from './postgres-mutants.ts'
import { priceMutants } from './price-mutants.ts'
import { recoveryMutants } from './recovery-mutants.ts'
import { reportMutants } from './report-mutants.ts'
import { scopeMutants } from './scope-mutants.ts'
import { sessionMutants } from './session-mutants.ts'
import { signInMutants } from './sign-in-mutants.ts'
import { spendLimitMutants } from './spend-limit-mutants.ts'
import { streamMutants } from './stream-mutants.ts'
import { toolMutants } from './tool-mutants.ts'
import { traceMutants } from './trace-mutants.ts'
import { turnMutants } from './turn-mutants.ts'
import { webhookMutants } from './webhook-mutants.ts'

export const mutants: Mutant[] = [
  ...httpLayerMutants,
  ...accessMutants,
  ...sessionMutants,
  ...signInMutants,
  ...operatorMutants,
  ...scopeMutants,
  ...admissionMutants,
  ...earlyMutants,
  ...endingMutants,
  ...priceMutants,
  ...overloadMutants,
  ...recoveryMutants,
  ...streamMutants,
  ...turnMutants,
  ...openAiMutants,
  ...loopMutants,
  ...toolMutants,
  ...mcpMutants,
  ...erasureMutants,
  ...auditMutants,
  ...reportMutants,
  ...traceMutants,
  ...webhookMutants,
  ...knowledgeMutants,
  ...constraintMutants,
  ...postgresMutants,
  ...spendLimitMutants,
]
