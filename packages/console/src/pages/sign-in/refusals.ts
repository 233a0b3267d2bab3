/** Why a sign-in with the company account was refused, by the code that the server puts into the address. */
const refusals: Record<string, string> = {
  oidc_busy: 'Too many sign-ins with a company account have failed or are in progress. Wait ten seconds, then try again.',
  oidc_cancelled: 'The sign-in with the company account was cancelled.',
  oidc_disabled: 'Your account is disabled. Ask an admin to enable it.',
  oidc_domain: 'Your email address is not of a domain that may sign in here. Use your company account, or ask an admin.',
  oidc_email: 'The identity provider has not verified your email address. Verify it there, then sign in again.',
  oidc_expired: 'The sign-in took too long, or was started in another browser. Try again.',
  oidc_failed:
    'The response of the identity provider could not be verified. Try again; if it happens again, an admin finds the reason in the server’s log.',
  oidc_groups:
    'The identity provider left your groups out, because you are in too many. An admin can limit the groups that it sends, or use app roles.',
  oidc_other_account: 'Your email address belongs to an operator with another company account. Ask an admin for a new invitation.',
  oidc_role: 'Your company account has no role in Turnkeep. Ask an admin to add you to one of the groups that may sign in.',
  oidc_unavailable: 'The identity provider cannot be reached. Try again later, or sign in another way.',
  oidc_unknown: 'No operator has your email address. Ask an admin to invite you.',
}

/** Null without a code. An unknown code is not repeated: anyone can write a link. */
export const refusalOf = (code: string | null): string | null =>
  code === null ? null : (refusals[code] ?? 'The sign-in with the company account failed. Try again, or sign in another way.')
