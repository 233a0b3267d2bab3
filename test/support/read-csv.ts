/** Reads CSV by RFC 4180, without knowing how it was written: a header, and one record for each line. Throws for anything else. */
export function readCsv(text: string): Record<string, string>[] {
  const rows: string[][] = []
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y
  let row: string[] = []
  while (field.lastIndex < text.length) {
    const at = field.lastIndex
    const found = field.exec(text)
    if (!found) throw new Error(`not CSV at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`)
    const [, quoted, plain, end] = found
    row.push(quoted === undefined ? plain! : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  const [header = [], ...records] = rows
  return records.map((record) => {
    if (record.length !== header.length) throw new Error(`${record.length} fields, but ${header.length} columns`)
    return Object.fromEntries(header.map((name, index) => [name, record[index]!]))
  })
}

/** `export.csv`: the text of a text field. */
export const textOf = (field: string): string => field.replace(/^'/, '')
