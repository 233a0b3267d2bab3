/** `order.spelling`: spellings that a proxy and a server could read differently. */

/** Other spellings of `/a/b/c`, as programs that decode or normalize a path would read them. An ID may be encoded. */
export function spellingsOf(path: string): string[] {
  const [, first = '', ...more] = path.split('/')
  const rest = more.length === 0 ? '' : `/${more.join('/')}`
  const encodedFirst = `%${first.charCodeAt(0).toString(16)}${first.slice(1)}`
  const dots = ['.', '..', '%2e', '%2E%2e', '.%2e', '%252e%252e', '..;', '%2e%2e;x=1']
  const slashes = ['%2f', '%2F', '%5c', '%5C', '%252f', '%25255c', '//', '/./', '\\', '/%2e/']
  return [
    `/${encodedFirst}${rest}`,
    `/${encodedFirst.replace('%', '%25')}${rest}`,
    `/${first}${rest.replace(/([a-z])([^/]*)$/, (_, letter: string, end: string) => `%${letter.charCodeAt(0).toString(16)}${end}`)}`,
    `//${first}${rest}`,
    `/\\${first}${rest}`,
    `\\${first}${rest}`,
    `/${first}${rest}//`,
    `/${first}${rest}%2f`,
    `/${first}${rest}#x`,
    `/${first}${rest}/%2e`,
    `/${first.toUpperCase()}${rest}`,
    `http://x/${encodedFirst}${rest}`,
    `http://x//${first}${rest}`,
    `HTTP://x/x/../${first}${rest}`,
    ...dots.map((dot) => `/x/${dot}/${first}${rest}`),
    ...dots.map((dot) => `/v1/${dot}/${first}${rest}`),
    ...dots.map((dot) => `/console/${dot}/${first}${rest}`),
    ...dots.map((dot) => `/${first}/${dot}/${first}${rest}`),
    ...(rest === '' ? [] : slashes.map((slash) => `/${first}${rest.replace(/\/([^/]*)$/, (_, last: string) => `${slash}${last}`)}`)),
  ].filter((spelling) => spelling !== path && !spelling.includes('/%61gt_'))
}
