/**
 * The commands that every resource has, and the options of its fields. A resource names its path, the columns of its list and how an example
 * calls it; the options follow from the declaration of its fields in src/resources.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import { grouped, nameOf } from '../../resources/field.ts'
import type { Field, Fields as Declared, Kind as FieldKind } from '../../resources/field.ts'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findId, kindOf, nounOf } from '../admin-api/names.ts'
import type { Kind } from '../admin-api/names.ts'
import { anyNumber, countFromOne, serverCommand, usd, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

/**
 * `path`: of all of them. `of`: what they belong to, whose path `path` follows, such as the agent of keys. `example`: how the examples of the help
 * texts name one, quoted for a shell.
 */
export type Resource = { kind: Kind; path: string; columns: Column[]; example: string; of?: { kind: Kind; path: string; example: string } }
/** A call of a command: the client, its arguments, of which the first often names a resource, and its options. */
export type Call<Options> = { client: AdminClient; argument: string; second: string; options: ServerOptions & Options }
type CallOfOne<Options> = Call<Options> & { path: string }

export class Crud {
  readonly #run: CommandRun
  readonly #group: Command
  readonly #resource: Resource

  constructor(run: CommandRun, group: Command, resource: Resource) {
    this.#run = run
    this.#group = group
    this.#resource = resource
  }

  /** A command whose first argument names no such resource. `usage`: such as `create <name>`. `example`: the same with values. */
  define<Options = object>(usage: string, says: string, example: string, action: (call: Call<Options>) => Promise<void>): Command {
    return serverCommand(this.#group, usage, says, `${this.#group.name()} ${example}`).action((...parts: unknown[]) => {
      const options = parts.at(-2) as Call<Options>['options']
      const [argument, second] = parts.map(String) as [string, string]
      return action({ client: createAdminClient(this.#run.environment, options), argument, second, options })
    })
  }

  /**
   * A command for one that exists: `path` is that of the one that the first argument names. `usage`: such as `test`, or `retry <delivery>` for another
   * argument. `more`: what follows the first argument in the example.
   */
  one<Options = object>(usage: string, says: string, more: string, action: (call: CallOfOne<Options>) => Promise<void>): Command {
    const { kind, example } = this.#resource
    const [verb = '', ...others] = usage.split(' ')
    const words = (...parts: string[]): string => parts.filter((part) => part !== '').join(' ')
    return this.define<Options>(words(verb, `<${kind}>`, ...others), says, words(verb, example, more), async (call) =>
      action({ ...call, path: await this.pathOf(call.client, call.argument) }),
    )
  }

  list(says: string): void {
    const { path, columns, of } = this.#resource
    const usage = of ? `list <${of.kind}>` : 'list'
    this.define<{ limit?: number }>(usage, says, of ? `list ${of.example}` : 'list', async ({ client, argument, options }) =>
      printList(this.#run, client, of ? `${await pathOfKind(client, of, argument)}${path}` : path, columns, options),
    ).option('--limit <count>', 'Maximum number of results', countFromOne)
  }

  show(says: string): void {
    this.one('show', says, '', async ({ client, path, options }) => printRecord(this.#run, await client.call('GET', path), options))
  }

  /** Changes the fields that options set. `more`: the options of the example. */
  update(fields: Declared, says: string, more: string): void {
    const command = this.one<Record<string, unknown>>('update', says, more, async ({ client, path, options }) => {
      const body = await bodyOf(client, fields, 'change', options)
      await printRecord(this.#run, await client.call('PATCH', path, { body }), options)
    })
    withFields(command, fields, 'change')
  }

  /** `verb` and `done`: such as `delete` and `Deleted`. */
  remove(verb: string, done: string, says: string): void {
    this.one(verb, says, '', async ({ client, path, argument }) => {
      await client.call('DELETE', path)
      tell(this.#run, `${done} ${nounOf(this.#resource.kind)} ${escapeForTerminal(argument)}`)
    })
  }

  /** Throws CommandFailed with code 1 if none has the name. */
  pathOf(client: AdminClient, named: string): Promise<string> {
    return pathOfKind(client, this.#resource, named)
  }
}

const pathOfKind = async (client: AdminClient, { kind, path }: Pick<Resource, 'kind' | 'path'>, named: string): Promise<string> =>
  `${path}/${encodeURIComponent(await findId(client, kind, named))}`

/** Prints `secret` alone on stdout and the other fields on stderr, or with --json everything on stdout. */
export async function printShownOnce(run: CommandRun, made: Fields, secret: string, called: string, options: ServerOptions): Promise<void> {
  if (options.json) return printRecord(run, made, options)
  const { [secret]: shown, ...rest } = made
  for (const line of recordLines(rest)) tell(run, line)
  tell(run, `${called} (shown only once):`)
  return write(run, `${String(shown)}\n`)
}

type Use = 'create' | 'change'

/** Adds the options of the fields that a request may have. */
export function withFields(command: Command, fields: Declared, use: Use): Command {
  for (const { option, kind } of fieldsWithOption(fields, use)) {
    const made = new Option(option!.flags, option!.says)
    const chosen = choicesOf(kind)
    if (chosen) made.choices(chosen)
    const parse = parserOf(kind)
    if (parse) made.argParser(parse)
    command.addOption(made)
    if (option!.no !== undefined) command.option(option!.flags.replace('--', '--no-').replace(/ .*/, ''), option!.no)
  }
  return command
}

/** The body of a request with the fields that options set. An empty text is null, for a field that may be. */
export async function bodyOf(client: AdminClient, fields: Declared, use: Use, options: Record<string, unknown>): Promise<Fields> {
  const entries = []
  for (const { name, option, kind } of fieldsWithOption(fields, use))
    entries.push([name, await valueOf(client, kind, options[new Option(option!.flags).attributeName()])] as const)
  return grouped(entries.filter(([, value]) => value !== undefined))
}

const fieldsWithOption = (fields: Declared, use: Use): (Field & { name: string })[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field[use] && field.option && (field.option.only ?? use) === use ? [{ ...field, name: nameOf(name, field) }] : [],
  )

async function valueOf(client: AdminClient, kind: FieldKind, value: unknown): Promise<unknown> {
  if (kind.of === 'null') return value === '' || value === false ? null : valueOf(client, kind.or, value)
  return kind.of === 'id' && typeof value === 'string' ? findId(client, kindOf(kind.prefix), value) : value
}

function choicesOf(kind: FieldKind): readonly string[] | undefined {
  switch (kind.of) {
    case 'null':
      return choicesOf(kind.or)
    case 'list':
      return choicesOf(kind.item)
    default:
      return kind.of === 'one' ? kind.values : undefined
  }
}

function parserOf(kind: FieldKind): ((text: string) => unknown) | undefined {
  switch (kind.of) {
    case 'null': {
      const parse = parserOf(kind.or)
      return parse && ((text) => (text === '' ? text : parse(text)))
    }
    case 'whole':
      return wholeNumber
    case 'number':
      return anyNumber
    case 'usd':
      return usd
    default:
      return undefined
  }
}
