/** One typed method for each read and write, so that calls are checked and an editor finds the query behind them. */
import type { Sql } from './sql.ts'

/** The functions of queries/reads.ts or queries/writes.ts without their first parameter, the connection. */
export type Methods<Operations> = {
  [Name in keyof Operations]: Operations[Name] extends (sql: Sql, ...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never
}

/** A method for each of `names` that passes its name and arguments to `call`. */
export const methodsOf = <Operations>(
  names: Record<keyof Operations, unknown>,
  call: (name: keyof Operations, args: unknown[]) => Promise<unknown>,
): Methods<Operations> =>
  Object.fromEntries(
    (Object.keys(names) as (keyof Operations)[]).map((name) => [name, (...args: unknown[]) => call(name, args)]),
  ) as Methods<Operations>

/** What an object of `boundMethods` was made for. */
const given = Symbol('given')

/**
 * Makes objects with a method for each of `names`, each of which passes what its object was made for, its name and its arguments to `call`. The
 * methods are made once, so that an object costs almost nothing.
 */
export function boundMethods<Given, Made extends object>(
  names: Record<keyof Made, unknown>,
  call: (given: Given, name: keyof Made, args: unknown[]) => unknown,
): (given: Given) => Made {
  const methods = {}
  for (const name of Object.keys(names) as (keyof Made)[])
    Object.defineProperty(methods, name, {
      // Read from its object, a method stays one of it.
      get(this: { [given]: Given }) {
        const own = this[given]
        return (...args: unknown[]) => call(own, name, args)
      },
    })
  return (own) => Object.create(methods, { [given]: { value: own } }) as Made
}

/** Calls a method whose name is known only at run time. */
export const callMethod = <Operations>(methods: Methods<Operations>, name: keyof Operations, args: unknown[]): Promise<unknown> =>
  (methods[name] as (...args: unknown[]) => Promise<unknown>)(...args)
