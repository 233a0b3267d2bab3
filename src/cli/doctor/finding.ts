/** What one check of `turnkeep doctor` found, and how to mend it. */

export type Finding = {
  check: string
  /** `warn`: it works, but not as it should · `fail`: something does not work, or data is in danger. */
  status: 'ok' | 'warn' | 'fail'
  says: string
  mend?: string
}

export const ok = (check: string, says: string): Finding => ({ check, status: 'ok', says })
export const warn = (check: string, says: string, mend: string): Finding => ({ check, status: 'warn', says, mend })
export const fail = (check: string, says: string, mend: string): Finding => ({ check, status: 'fail', says, mend })
