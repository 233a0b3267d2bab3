/** Mutants of what is sent to tools: where a request may go, what is sent with it, and what a model's arguments may become. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const guardTest = 'guard.test.ts'
const httpTest = 'tools-http.test.ts'

export const toolMutants: Mutant[] = [
  {
    rule: 'tools.guard',
    removes: 'every address that a name resolves to is public',
    edits: [edit('addresses.some(({ address }) => !isPublic(address))', 'addresses.every(({ address }) => !isPublic(address))')],
    caughtBy: { file: guardTest, title: 'tools.guard: none of the forbidden URLs is reached, whoever requests it' },
  },
  {
    rule: 'tools.guard',
    removes: 'an address that is written as one is public',
    edits: [edit('isIP(host) ? isPublic(host) : isPublicName(host)', 'isIP(host) !== 0 || isPublicName(host)')],
    caughtBy: { file: guardTest, title: 'tools.guard: none of the forbidden URLs is reached, whoever requests it' },
  },
  {
    rule: 'tools.guard',
    removes: 'the connected address is checked again before a byte is sent',
    edits: [edit("!permitted && !isPublic(socket.remoteAddress ?? '')", "!permitted && socket.remoteAddress === ''")],
    caughtBy: { file: guardTest, title: 'tools.guard: a connection that reaches another address than the checked one is closed' },
  },
  {
    rule: 'tools.guard',
    removes: 'what is connected to are the addresses that were checked, and no second look-up',
    edits: [edit('      lookup: answered,\n', '', { at: 'tools.guard' })],
    caughtBy: {
      file: guardTest,
      title: 'fault.private-address tools.guard: a name is resolved once, and the checked address is the one connected to',
    },
    symptom: 'throws',
  },
  {
    rule: 'tools.guard',
    removes: 'https alone',
    edits: [edit("  if (url.protocol === 'http:') throw new GuardRefused('the address must start with https://', pairOf(target))\n")],
    caughtBy: { file: guardTest, title: 'tools.guard: an address that is refused by itself' },
  },
  {
    rule: 'tools.guard',
    removes: 'credentials stay with the origin that they were meant for',
    edits: [edit('(staysHome || plainHeaders.includes(name))', "(staysHome || name !== '')")],
    caughtBy: { file: guardTest, title: 'tools.guard: the methods of redirects' },
  },
  {
    rule: 'tools.arguments',
    removes: 'arguments fit the schema before anything is called',
    edits: [edit('return problems.length === 0\n', 'return true\n', { at: 'tools.arguments' })],
    caughtBy: { file: httpTest, title: 'tools.arguments: unknown names and invalid arguments are reported to the model and not' },
  },
  {
    rule: 'tools.arguments',
    removes: 'a null that the schema does not allow is left out',
    edits: [edit('|| fitsWithoutNulls([parsed, args], problems, check, operations)')],
    caughtBy: { file: 'field/mcp.test.ts', title: 'tools.arguments: null for an optional argument is left out' },
  },
  {
    rule: 'tools.arguments',
    removes: 'a schema with too many states in its lookarounds is refused before all are made',
    edits: [edit('    states,\n', '    states: program.kinds.length,\n', { at: 'tools.arguments-2' })],
    caughtBy: { file: 'tools-schema.test.ts', title: 'tools.arguments: states in lookarounds: read or refused in time that is linear' },
  },
  {
    rule: 'tools.arguments',
    removes: 'a reference leads to a schema and not to data',
    edits: [edit('(isObject(found) && within.has(found))', 'isObject(found)')],
    caughtBy: {
      file: 'tools-schema.test.ts',
      title: 'tools.arguments: a reference that leads to nothing, out of the schema or to data is refused',
    },
  },
  {
    rule: 'tools.arguments',
    removes: 'an argument is one component of the path',
    edits: [edit('fillText(segment, (name) => encodeComponent(valueOf(name)))', 'fillText(segment, valueOf)', { at: 'tools.arguments-3' })],
    caughtBy: { file: httpTest, title: 'tools.arguments: an argument cannot leave its URL component, whatever it is' },
  },
  {
    rule: 'tools.arguments',
    removes: 'an argument is not a parent path segment',
    edits: [edit('if (hasDotSegment(fillText(segment, valueOf)))', 'if (false)')],
    caughtBy: { file: httpTest, title: 'tools.arguments: a component that a URL would normalize or drop is refused' },
  },
  {
    rule: 'tools.arguments',
    removes: 'a parameter that the tool does not name is not sent',
    edits: [edit('!isDeclared(tool, name) || ')],
    caughtBy: { file: httpTest, title: "tools.arguments: the model cannot add a parameter to the operator's or repeat one" },
  },
  {
    rule: 'tools.arguments',
    removes: 'what the operator has put into the query occurs once',
    edits: [edit(' || isTaken(name))', ')')],
    caughtBy: { file: httpTest, title: "tools.arguments: the model cannot add a parameter to the operator's or repeat one" },
  },
]
