/** Refuses a model whose provider does not exist, before anything runs or is stored, and says which providers there are. */
import { nearestWord } from '../../config/nearest-word.ts'
import { invalid } from '../../errors.ts'
import { pageRequest } from '../../store/queries/paging.ts'
import type { AdminRequest } from '../admin-store.ts'
import { builtInProvider, providerOf } from '../agents/agent-fields.ts'

// Of an installation with more providers, a message does not list the others.
const maxNamed = 20

/**
 * Throws ApiError `validation_error` if the model is not `<provider name>/<model id>`, or its provider does not exist. `param`: the field of the
 * request that names it, null if it is a stored one.
 */
export async function refuseUnknownProvider(request: AdminRequest, model: string, param: string | null): Promise<void> {
  const provider = providerOf(model)
  if (provider !== null && !(await request.store.read.findProvider(provider)))
    throw invalid(param, `The provider of the model ${model} does not exist.${await nearestProvider(request, provider)}`)
}

/** A sentence that follows "The provider … does not exist." A restricted caller sees no list of providers. */
export async function nearestProvider({ store, scope }: AdminRequest, given: string): Promise<string> {
  if (scope) return ''
  const names = (await store.read.listProviders(pageRequest({ limit: maxNamed }))).map(({ name }) => name)
  const meant = nearestWord(given, [...names, builtInProvider])
  if (meant !== undefined) return ` Did you mean ${meant}?`
  return names.length === 0 ? ' No providers exist yet.' : ` The providers are ${names.toSorted().join(', ')}.`
}
