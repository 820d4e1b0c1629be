/**
 * Sends mail by SMTP, and composes the text of a mail file, both with nodemailer. It is loaded with
 * the first mail. The only file that uses it.
 */
import { isLoopback } from '../../kernel/address.ts'
import { type MailMessage, type MailTransport, permanentError } from './message.ts'

/** Limits of a connection, in milliseconds, unless the URL has them. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }
/** The server answers such a code for a mail that it never accepts. */
const isRejection = (code: unknown): boolean =>
  typeof code === 'number' && code >= 550 && code < 560

/**
 * Returns a transport that sends mail to an SMTP server. The connection is encrypted: from the
 * first byte with `smtps:`, by STARTTLS with `smtp:`. A server on loopback may do without.
 *
 * @param url `smtps://name:password@mail.example.com`; the query has further options of nodemailer
 * @throws TypeError The URL is not one of SMTP.
 * @example
 * api.mail(smtp(process.env.SMTP_URL), { from: 'Example <no-reply@example.com>' })
 */
export function smtp(url: string): MailTransport {
  const address = parseUrl(url)
  let transporter: ReturnType<typeof open> | undefined
  const open = async () => {
    const { createTransport } = await import('nodemailer')
    return createTransport(address)
  }
  return {
    async send(message) {
      transporter ??= open()
      try {
        await (await transporter).sendMail(toOptions(message))
      } catch (error) {
        const { responseCode, message: text } = error as Error & { responseCode?: number }
        throw isRejection(responseCode) ? permanentError(text) : error
      }
    },
  }
}

/** Returns the URL with the options that it lacks. The error never contains the password. */
function parseUrl(url: unknown): string {
  const parsed = URL.parse(String(url))
  if (!parsed || !/^smtps?:$/.test(parsed.protocol) || !parsed.hostname) {
    throw new TypeError('smtp(): the URL is of the form smtps://name:password@mail.example.com')
  }
  const { searchParams } = parsed
  for (const [name, value] of Object.entries(TIMEOUTS)) {
    if (!searchParams.has(name)) searchParams.set(name, String(value))
  }
  const isOpen = parsed.protocol === 'smtp:' && isLoopback(parsed.hostname)
  if (!isOpen && !searchParams.has('requireTLS')) searchParams.set('requireTLS', 'true')
  return parsed.href
}

/** Mail of the server must not cause automatic replies (RFC 3834). */
const HEADERS = { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' }

/** Returns the domain of `Name <user@domain>` or `user@domain`. */
const domainOf = (from: string): string => from.slice(from.lastIndexOf('@') + 1).replace('>', '')

const toOptions = ({ id, from, to, subject, text, html }: MailMessage) => ({
  from,
  to,
  subject,
  text,
  ...(html !== undefined && { html }),
  messageId: `<${id}@${domainOf(from)}>`,
  headers: HEADERS,
  disableFileAccess: true,
  disableUrlAccess: true,
})

/** Returns a mail as the bytes of an `.eml` file (RFC 5322). */
export async function composeMail(message: MailMessage): Promise<Uint8Array> {
  const { createTransport } = await import('nodemailer')
  const transporter = createTransport({ streamTransport: true, buffer: true })
  const { message: bytes } = await transporter.sendMail(toOptions(message))
  return bytes as Uint8Array
}
