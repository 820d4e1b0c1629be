/**
 * A mail, its transport, and the declaration of a service's mail. Addresses and subjects are
 * validated here: a text with a line break never becomes a header. Pure.
 */

/** A mail that the server sends. */
export interface MailMessage {
  /** Identifies the mail; equal for each attempt to send it. */
  readonly id: string
  /** `no-reply@example.com`, or `Example <no-reply@example.com>`. */
  readonly from: string
  /** One e-mail address. */
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

/** Sends a mail. An error leads to a retry; with `isPermanent: true` it does not. */
export interface MailTransport {
  send(message: MailMessage): Promise<void>
}

/** The part of a mail that its reader sees. */
export interface MailContent {
  /** One line of at most 200 characters. */
  readonly subject: string
  readonly text: string
  readonly html?: string | undefined
}

/** Mails to people, by their occasion. */
const MAIL_OCCASIONS = [
  'verifyEmail',
  'existingAccount',
  'resetPassword',
  'passwordChanged',
  'confirmUsername',
  'usernameChanged',
  'passkeyAdded',
] as const
export type MailOccasion = (typeof MAIL_OCCASIONS)[number]

/** The facts from which the text of a mail is written. */
export interface MailFacts {
  /** The name of the service. */
  readonly service: string
  readonly email: string
  /** The token that the mail carries; undefined for a mail without one. */
  readonly token?: string | undefined
  /** The page of `links` with the token; undefined if no page is declared. */
  readonly link?: string | undefined
  /** With `passwordChanged`, of a person with passkeys: the number of those that still sign in. */
  readonly passkeys?: number | undefined
  /** The minutes for which the token is valid. */
  readonly validMinutes: number
}

/** Pages of the team's own site; `{token}` is replaced by the token. */
export interface MailLinks {
  /** `https://app.example.com/verify#token={token}` */
  readonly verifyEmail?: string
  /** `https://app.example.com/reset#token={token}` */
  readonly resetPassword?: string
  /** `https://app.example.com/address#token={token}` */
  readonly confirmUsername?: string
}

const MAIL_LINKS = [
  'verifyEmail',
  'resetPassword',
  'confirmUsername',
] as const satisfies readonly (keyof MailLinks)[]

export interface MailOptions {
  /** `no-reply@example.com`, or `Example <no-reply@example.com>`. */
  readonly from: string
  /** The pages of `verifyEmail`, `resetPassword` and `confirmUsername`: a URL with `{token}`. */
  readonly links?: MailLinks
  /**
   * Replaces the texts of the engine: `verifyEmail`, `existingAccount`, `resetPassword`,
   * `passwordChanged`, `confirmUsername`, `usernameChanged`, `passkeyAdded`. A text is a function
   * of service, email, token, link, passkeys and minutes.
   */
  readonly texts?: { readonly [O in MailOccasion]?: (facts: MailFacts) => MailContent }
}

/** The mail of a service; without a transport, mail is stored as files. */
export interface MailDefinition extends MailOptions {
  readonly transport: MailTransport | undefined
}

const MAX_ADDRESS = 254 // RFC 5321 §4.5.3.1.3, less the angle brackets
const MAX_LOCAL_PART = 64
const MAX_SUBJECT = 200
const MAX_BODY = 100_000

/** No separators of address lists, quotes, spaces or control characters. */
const LOCAL_PART = /^[^\s@<>()[\],;:\\"\x00-\x1f\x7f]+$/
const DOMAIN = /^[^\s@<>()[\],;:\\"\x00-\x20\x7f]+$/

/** Returns whether a text is exactly one e-mail address that a header can carry. */
export function isMailAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS || !text.isWellFormed()) return false
  const at = text.indexOf('@')
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  if (local.length > MAX_LOCAL_PART || domain.startsWith('.') || domain.endsWith('.')) return false
  return LOCAL_PART.test(local) && DOMAIN.test(domain) && !domain.includes('..')
}

/** Returns whether a text is an address, or a name with an address in angle brackets. */
export function isSender(text: string): boolean {
  const match = /^([^<>"\x00-\x1f\x7f]{1,100}) <([^<>]{1,254})>$/.exec(text)
  return match ? !/[,;:@\\]/.test(match[1]!) && isMailAddress(match[2]!) : isMailAddress(text)
}

/** Returns whether a text is a subject: one line without control characters. */
const isSubject = (text: string): boolean =>
  text.length > 0 && text.length <= MAX_SUBJECT && !/[\x00-\x1f\x7f\u2028\u2029]/.test(text)

/** Throws for a mail that must not be sent: a mistake of the team's texts. */
export function checkMessage({ to, from, subject, text, html = '' }: MailMessage): void {
  if (!isMailAddress(to)) throw permanentError('the recipient is not an e-mail address')
  if (!isSender(from)) throw permanentError('the sender is not an e-mail address')
  if (typeof subject !== 'string' || !isSubject(subject)) {
    throw permanentError('the subject is not one line of at most 200 characters')
  }
  if (typeof text !== 'string' || text.length > MAX_BODY || html.length > MAX_BODY) {
    throw permanentError('the text is missing or has more than 100,000 characters')
  }
}

/** Returns an error after which a mail is not retried. */
export const permanentError = (message: string): Error =>
  Object.assign(new Error(message), { isPermanent: true })

/** Returns whether an error of a transport is permanent. */
export const isPermanentError = (error: unknown): boolean =>
  (error as { readonly isPermanent?: unknown } | null)?.isPermanent === true

/** Returns a sentence for the developer per mistake in the declaration of mail. */
export function findMailMistakes(transport: unknown, options: unknown): string[] {
  const { from, links = {}, texts = {} } = (options ?? {}) as Partial<MailOptions>
  const mistakes: string[] = []
  const hasSend = typeof (transport as MailTransport | null)?.send === 'function'
  if (transport !== undefined && !hasSend) {
    mistakes.push('.mail(): the transport has no function send(message)')
  }
  if (typeof from !== 'string' || !isSender(from)) {
    mistakes.push(".mail(): from is required, for example 'Example <no-reply@example.com>'")
  }
  if (links === null || texts === null) mistakes.push('.mail(): links and texts are objects')
  for (const [name, url] of Object.entries(links ?? {})) {
    const isPage = typeof url === 'string' && url.includes('{token}') && URL.canParse(url)
    if (!isPage) mistakes.push(`.mail(): links.${name} is not a URL that contains {token}`)
    if (!MAIL_LINKS.some((link) => link === name)) {
      mistakes.push(`.mail(): links.${name} is unknown: ${MAIL_LINKS.join(', ')}`)
    }
  }
  for (const [name, text] of Object.entries(texts ?? {})) {
    if (!MAIL_OCCASIONS.includes(name as MailOccasion) || typeof text !== 'function') {
      mistakes.push(`.mail(): texts.${name} is not a function of ${MAIL_OCCASIONS.join(', ')}`)
    }
  }
  return mistakes
}
