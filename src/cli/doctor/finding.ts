/** The result of one check of `turnkeep doctor`. The field names are part of its JSON output. */

export type Finding = {
  check: string
  /** `warn`: it works, but should be improved. `fail`: something does not work, or data is at risk. */
  status: 'ok' | 'warn' | 'fail'
  /** What was found. */
  says: string
  /** How to fix it. */
  fix?: string
}

export const ok = (check: string, says: string): Finding => ({ check, status: 'ok', says })
export const warn = (check: string, says: string, fix: string): Finding => ({ check, status: 'warn', says, fix })
export const fail = (check: string, says: string, fix: string): Finding => ({ check, status: 'fail', says, fix })
