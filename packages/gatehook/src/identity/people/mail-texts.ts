/** The texts of mail to people; a service replaces them with `texts` of `.mail()`. Pure. */
import type {
  MailContent,
  MailFacts,
  MailLinks,
  MailOccasion,
  MailOptions,
} from '../../platform/mail/message.ts'

/** The declared parts of the mail of a service. */
export interface MailWording extends Pick<MailOptions, 'links' | 'texts'> {
  /** The name of the service. */
  readonly service: string
}

const paragraphs = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`

/** A page with the token, or the token for a form. */
const wayOf = ({ link, token }: MailFacts, task: string): string =>
  link === undefined ? `${task}, enter this code:\n\n${token}` : `${task}, open:\n\n${link}`

const passkeysOf = ({ passkeys }: MailFacts): readonly string[] => {
  if (passkeys === undefined) return []
  if (passkeys === 0) return ['No passkey signs in to the account any more.']
  return [`Passkeys still sign in to the account: ${passkeys}.`]
}

const DEFAULT_TEXTS: Readonly<Record<MailOccasion, (facts: MailFacts) => MailContent>> = {
  verifyEmail: (facts) => ({
    subject: `Confirm your e-mail address for ${facts.service}`,
    text: paragraphs(
      `An account of ${facts.service} was requested for ${facts.email}.`,
      wayOf(facts, 'To choose a password and create the account'),
      `This is possible once, within ${facts.validMinutes} minutes.`,
      'If you did not request an account, ignore this mail: none is created.',
    ),
  }),
  existingAccount: (facts) => ({
    subject: `You have an account of ${facts.service}`,
    text: paragraphs(
      `An account of ${facts.service} was requested for ${facts.email}, which has one.`,
      'Sign in with your password, or request a new one. If you requested none, ignore this mail.',
    ),
  }),
  resetPassword: (facts) => ({
    subject: `Choose a new password for ${facts.service}`,
    text: paragraphs(
      `A new password was requested for ${facts.email} at ${facts.service}.`,
      wayOf(facts, 'To choose it'),
      `This is possible once, within ${facts.validMinutes} minutes.`,
      'If you did not request it, ignore this mail: your password stays valid.',
    ),
  }),
  confirmUsername: (facts) => ({
    subject: `Confirm your new e-mail address for ${facts.service}`,
    text: paragraphs(
      `An account of ${facts.service} is to be signed in to with ${facts.email}.`,
      wayOf(facts, 'To confirm the new address'),
      `This is possible once, within ${facts.validMinutes} minutes.`,
      'If you did not request it, ignore this mail: nothing changes.',
    ),
  }),
  usernameChanged: (facts) => ({
    subject: `Your e-mail address for ${facts.service} was changed`,
    text: paragraphs(
      `${facts.email} no longer signs in to ${facts.service}: the account has another address.`,
      'If you did not change it, contact the service now.',
    ),
  }),
  passwordChanged: (facts) => ({
    subject: `Your password for ${facts.service} was changed`,
    text: paragraphs(
      `The password of ${facts.email} at ${facts.service} was changed, and other sessions ended.`,
      ...passkeysOf(facts),
      'If you did not change it, request a new password now.',
    ),
  }),
  passkeyAdded: (facts) => ({
    subject: `A passkey was added to your account of ${facts.service}`,
    text: paragraphs(
      `A device can now sign in as ${facts.email} to ${facts.service} by a passkey.`,
      'If you did not add it, reset your password now: that deletes all passkeys.',
    ),
  }),
}

const LINK_OF: Readonly<Partial<Record<MailOccasion, keyof MailLinks>>> = {
  verifyEmail: 'verifyEmail',
  resetPassword: 'resetPassword',
  confirmUsername: 'confirmUsername',
}

/** A subject is one line. */
const oneLine = (text: string): string => text.replace(/[\x00-\x1f\x7f]+/g, ' ').slice(0, 200)

/** Writes a mail to a person, with the team's text if there is one. */
export function writeMail(
  { service, links = {}, texts = {} }: MailWording,
  occasion: MailOccasion,
  { email, token, passkeys, validMinutes }: Omit<MailFacts, 'service' | 'link'>,
): MailContent & { readonly to: string } {
  const page = LINK_OF[occasion]
  const template = page && links[page]
  const link = token === undefined ? undefined : template?.replaceAll('{token}', token)
  const facts = { service: oneLine(service), email, token, link, passkeys, validMinutes }
  const { subject, text, html } = (texts[occasion] ?? DEFAULT_TEXTS[occasion])(facts)
  return { to: email, subject, text, html }
}
