/**
 * The text of Markdown on one line, for excerpts, where marks would only disturb. Approximate: it removes the marks of emphasis, code, headings,
 * lists, quotes and links. Emphasis by single marks stays, because they are also signs of multiplication and parts of names.
 */
export const plainText = (markdown: string): string =>
  markdown
    .replaceAll(/^\s*(?:#{1,6} |[-*+] |> ?|```.*$)/gm, '')
    .replaceAll(/!?\[([^\]\n]*)\]\([^)\s]*\)/g, '$1')
    .replaceAll(/\*\*|__|`/g, '')
