/**
 * The commands that every resource has, and the options of its fields. A resource names its path, the columns of its list and how an example calls
 * it; the options follow from the declaration of its fields in src/resources.
 */
import { Option } from 'commander'
import type { Command } from 'commander'
import { nameOf } from '../../resources/field.ts'
import type { Field, Fields as Declared, Kind as FieldKind } from '../../resources/field.ts'
import type { CommandRun } from '../command-run.ts'
import { createAdminClient } from '../admin-api/client.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { findId, kindOf } from '../admin-api/names.ts'
import type { Kind } from '../admin-api/names.ts'
import { countFromOne, given, serverCommand, usd, wholeNumber } from '../terminal/command-options.ts'
import type { ServerOptions } from '../terminal/command-options.ts'
import { printList, printRecord, tell, write } from '../terminal/print.ts'
import { escapeForTerminal, recordLines } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'

/** `example`: how the examples of the help texts name one, quoted for a shell. */
export type Resource = { kind: Kind; path: string; columns: Column[]; example: string }
/** A call of a command: the client, its arguments, of which the first often names a resource, and its options. */
type Call = { client: AdminClient; argument: string; second: string; options: ServerOptions & Record<string, unknown> }

export class Crud {
  readonly #run: CommandRun
  readonly #group: Command
  readonly #resource: Resource

  constructor(run: CommandRun, group: Command, resource: Resource) {
    this.#run = run
    this.#group = group
    this.#resource = resource
  }

  /** A command without an argument, or with one that is not an existing resource. `usage`: such as `create <name>`. */
  define(usage: string, says: string, example: string, action: (call: Call) => Promise<void>): Command {
    return serverCommand(this.#group, usage, says, `${this.#group.name()} ${example}`).action((...parts: unknown[]) => {
      const options = parts.at(-2) as Call['options']
      const [argument, second] = parts.map(String) as [string, string]
      return action({ client: createAdminClient(this.#run.environment, options), argument, second, options })
    })
  }

  /**
   * A command for one that exists: `path` is that of the one that the first argument names. `more`: what follows it in the example. `second`: another
   * argument, such as `<delivery>`.
   */
  one(verb: string, says: string, more: string, action: (call: Call & { path: string }) => Promise<void>, second = ''): Command {
    const { kind, example } = this.#resource
    const shown = [verb, example, more].filter((part) => part !== '').join(' ')
    return this.define(`${verb} <${kind}> ${second}`.trimEnd(), says, shown, async (call) =>
      action({ ...call, path: await this.pathOf(call.client, call.argument) }),
    )
  }

  list(says: string): void {
    const { path, columns } = this.#resource
    this.define('list', says, 'list', ({ client, options }) => printList(this.#run, client, path, columns, options)).option(
      '--limit <count>',
      'Maximum number of results',
      countFromOne,
    )
  }

  show(says: string): void {
    this.one('show', says, '', async ({ client, path, options }) => printRecord(this.#run, await client.call('GET', path), options))
  }

  /** `verb` and `done`: such as `delete` and `Deleted`. */
  remove(verb: string, done: string, says: string): void {
    this.one(verb, says, '', async ({ client, path, argument }) => {
      await client.call('DELETE', path)
      tell(this.#run, `${done} ${this.#resource.kind} ${escapeForTerminal(argument)}`)
    })
  }

  /** Throws CommandFailed with code 1 if none has the name. */
  async pathOf(client: AdminClient, named: string): Promise<string> {
    const { kind, path } = this.#resource
    return `${path}/${encodeURIComponent(await findId(client, kind, named))}`
  }
}

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
    if (option!.no !== undefined) command.option(option!.flags.replace('--', '--no-'), option!.no)
  }
  return command
}

/** The body of a request with the fields that options set. An empty text is null, for a field that may be. */
export async function bodyOf(client: AdminClient, fields: Declared, use: Use, options: Record<string, unknown>): Promise<Fields> {
  const body: Fields = {}
  for (const { name, option, kind } of fieldsWithOption(fields, use))
    body[name] = await valueOf(client, kind, options[new Option(option!.flags).attributeName()])
  return given(body)
}

const fieldsWithOption = (fields: Declared, use: Use): (Field & { name: string })[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field[use] && field.option && (field.option.only ?? use) === use ? [{ ...field, name: nameOf(name, field) }] : [],
  )

async function valueOf(client: AdminClient, kind: FieldKind, value: unknown): Promise<unknown> {
  if (kind.of === 'null') return value === '' ? null : valueOf(client, kind.or, value)
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
    case 'usd':
      return usd
    default:
      return undefined
  }
}
