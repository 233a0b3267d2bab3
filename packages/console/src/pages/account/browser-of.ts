/** A browser and its system, from how it names itself. Only a hint for the person who recognizes it. */
const browsers: [RegExp, string][] = [
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChrom(?:e|ium)\/|HeadlessChrome\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const systems: [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
]

export function browserOf(userAgent: string | null): string {
  if (userAgent === null) return 'Unknown browser'
  const find = (among: [RegExp, string][]): string | undefined => among.find(([words]) => words.test(userAgent))?.[1]
  const [browser, system] = [find(browsers) ?? 'Another browser', find(systems)]
  return system === undefined ? browser : `${browser} on ${system}`
}
