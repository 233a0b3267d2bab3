/**
 * Reads what is on the server and matches it with the declared items: by ID if one is given, otherwise by exact name within the parent.
 * Ambiguous matches are refused. Read-only.
 */
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { escapeForTerminal } from '../terminal/table.ts'
import type { WantedDocument } from './declaration.ts'
import type { Place, Problems } from './problems.ts'

/** One item as the API returns it. */
export type Present = { id: string; name: string | null; fields: Fields }

type Bounds = { until?: ReadonlySet<string>; limit?: number }

/** Lists items, newest first, up to the first ID in `until` and at most `limit` of them. Throws CommandFailed. */
export async function listAll(client: AdminClient, path: string, { until, limit }: Bounds = {}): Promise<Present[]> {
  const all: Present[] = []
  for await (const { data } of client.pages(path, limit)) {
    for (const fields of data) {
      const present = presentOf(fields)
      if (until?.has(present.id)) return all
      // A revoked key cannot be used again, so it counts as deleted.
      if ((fields['revoked_at'] ?? null) === null) all.push(present)
    }
  }
  return all
}

function presentOf(fields: Fields): Present {
  // A webhook is called by its URL.
  const name = fields['name'] ?? fields['title'] ?? fields['url'] ?? null
  return { id: String(fields['id']), name: name === null ? null : String(name), fields }
}

export type Matched<Wanted> = { pairs: { wanted: Wanted; present: Present | undefined }[]; rest: Present[] }
type Named = { id: string | undefined; name: string; place: Place }

/** `rest` is what is on the server but not declared. Ambiguous names and unknown IDs are reported as problems. */
export function matchByName<Wanted extends Named>(kind: string, wanted: Wanted[], present: Present[], problems: Problems): Matched<Wanted> {
  return match(kind, wanted, present, problems, [(one, { name }) => one.name === name])
}

/**
 * Matches a document by its title and its source (file name or URL), otherwise by one of the two, because the server may have chosen the
 * title. Many files share a name, so a file with a different title matches only if its content is the same.
 */
export function matchDocuments(wanted: WantedDocument[], present: Present[], problems: Problems): Matched<WantedDocument> {
  return match('document', wanted, present, problems, [
    (one, there) => isTitled(one, there) && isFrom(one, there),
    (one, there) => one.title === undefined && isFrom(one, there),
    isTitled,
    (one, there) => isFrom(one, there) && (one.content.source === 'url' || one.content.sha256 === there.fields['source_sha256']),
  ])
}

const isTitled = ({ title }: WantedDocument, { name }: Present): boolean => title !== undefined && title === name

function isFrom({ content }: WantedDocument, { fields }: Present): boolean {
  switch (content.source) {
    case 'file':
      return fields['file_name'] === content.fileName
    case 'url':
      return fields['url'] === content.url
    case 'text':
      return false
  }
}

function match<Wanted extends Named>(
  kind: string,
  wanted: Wanted[],
  present: Present[],
  problems: Problems,
  ways: ((one: Wanted, present: Present) => boolean)[],
): Matched<Wanted> {
  const found = new Map<Wanted, Present>()
  let rest = present
  const take = (one: Wanted, taken: Present): void => {
    found.set(one, taken)
    rest = rest.filter((other) => other !== taken)
  }
  for (const one of wanted) {
    if (one.id === undefined) continue
    const named = rest.find(({ id }) => id === one.id)
    if (named) take(one, named)
    else problems.add(one.place, `there is no ${kind} with the ID ${one.id}; without id, it is matched by name`)
  }
  const left = new Set(wanted.filter(({ id }) => id === undefined))
  for (const way of ways) {
    for (const one of left) {
      const meant = rest.filter((candidate) => way(one, candidate))
      if (meant.length === 0) continue
      left.delete(one)
      if (meant.length === 1) take(one, meant[0]!)
      else tellAmbiguous(kind, one, meant, problems)
    }
  }
  return { pairs: wanted.map((one) => ({ wanted: one, present: found.get(one) })), rest }
}

function tellAmbiguous(kind: string, { name, place }: Named, meant: Present[], problems: Problems): void {
  const ids = meant.map(({ id }) => id).join(', ')
  problems.add(
    place,
    `the server has ${meant.length} ${kind}s named ${escapeForTerminal(name)}: ${ids}. Specify one of them, such as id: ${meant[0]!.id}`,
  )
}
