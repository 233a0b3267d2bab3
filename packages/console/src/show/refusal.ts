/** Which field of a form the server has refused: `param` of its error. What is about no field of the form is shown below it. */
import { ApiFailure } from '../api/client.ts'

export type Refusal<Name extends string> = {
  /** Undefined if the failure is about no field of the form. */
  field: Name | undefined
  /** The server's message if it is about this field. */
  at(name: Name): string | undefined
  /** The failure if it is about no field of the form, otherwise null. */
  rest: unknown
}

/**
 * `fields`: those of the form, by their paths in the API. What is about a part of a field is shown at the field, and what is about several of
 * them, such as a price that is missing, at the first one.
 */
export function refusalOf<Name extends string>(error: unknown, fields: readonly Name[]): Refusal<Name> {
  if (!(error instanceof ApiFailure) || error.param === null) return { field: undefined, at: () => undefined, rest: error }
  const field = fieldOf(error.param, fields)
  return { field, at: (name) => (name === field ? error.message : undefined), rest: field === undefined ? error : null }
}

const fieldOf = <Name extends string>(param: string, fields: readonly Name[]): Name | undefined =>
  fields.find((name) => name === param) ??
  fields.find((name) => param.startsWith(`${name}.`)) ??
  fields.find((name) => name.startsWith(`${param}.`))

/** The failure with the path that `to` returns for its field, for a form of a part of the request. Other errors stay as they are. */
export function relocated(error: unknown, to: (param: string) => string | undefined): unknown {
  if (!(error instanceof ApiFailure) || error.param === null) return error
  const param = to(error.param) ?? null
  // A message may start with the path.
  const message = param !== null && error.message.startsWith(error.param) ? param + error.message.slice(error.param.length) : error.message
  return new ApiFailure({ ...error, message, param })
}

/** For `relocated`: paths within the field `prefix`. */
export const within =
  (prefix: string) =>
  (param: string): string | undefined =>
    param.startsWith(`${prefix}.`) ? param.slice(prefix.length + 1) : undefined

type Form = { setFieldError(path: string, error: string): void; getInputNode(path: string): { focus(): void } | null }

/** Shows a refusal at its field of the form, and moves the focus there. `pathOf`: the path of the field in the form. */
export function showRefusal<Name extends string>(form: Form, { field, at }: Refusal<Name>, pathOf = (name: Name): string => name): void {
  if (field === undefined) return
  const path = pathOf(field)
  form.setFieldError(path, at(field)!)
  form.getInputNode(path)?.focus()
}
