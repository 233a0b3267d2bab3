/** Decides whether the title in a file was chosen by its author, or filled in by the program that wrote the file. Pure. */

// What word processors, browsers, scanners and TeX write if the author set no title.
const placeholders =
  /^(untitled|unbenannt|sans titre|sin título|no title|title|document|doc|presentation|powerpoint presentation|slide|book|workbook|sheet|drawing|scan|scanned document|print|print version|new (tab|page|document)|unknown|unspecified|anonymous|none|null|undefined)([\s_-]*(document|page))?[\s_-]*\(?\d*\)?$/i
// The name of the program and of a file: "Microsoft Word - x.doc".
const ofProgram = /^microsoft \w+ - /i
// `about:blank`, `file:///C:/x.htm`, `https://…`, `data:…`.
const address = /^(about|file|https?|data|blob|chrome|view-source|javascript|mailto):/i
// A path, or the name of a file. A title may end like a host or a version, such as "Node.js" or "Release 2.10".
const fileName =
  /^([a-z]:)?[\\/]|\.(md|txt|rtf|docx?|dotx?|odt|ott|pages|pdf|ps|eps|dvi|tex|xlsx?|csv|ods|pptx?|odp|key|html?|xml|indd|qxd|fm|pmd|pub|wpd|tmp|cdr|dwg|vsdx?)$/i

/** Returns the title without surrounding white space, or null if it is not one: then the file name or the URL says more. */
export function realTitle(text: string | null | undefined): string | null {
  const title = (text ?? '').replace(/\s+/g, ' ').trim()
  // Brackets and quotes around a placeholder: "(anonymous)".
  const bare = title.replace(/^[^\p{L}\p{N}/\\]+|[^\p{L}\p{N})]+$|^\(|\)$/gu, '')
  if (!/[\p{L}\p{N}]/u.test(title) || title.toLowerCase().startsWith('untitled')) return null
  return [placeholders, ofProgram, address, fileName].some((pattern) => pattern.test(title) || pattern.test(bare)) ? null : title
}
