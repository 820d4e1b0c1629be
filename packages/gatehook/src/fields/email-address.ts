/** The e-mail address of a person in the engine's bodies; its domain may have one label. */
import { b, type Member } from './members.ts'

const MAX = 254 // RFC 5321 §4.5.3.1.3, less the angle brackets

export const emailAddress: Member<string> = b
  .text()
  .example('ada@example.com')
  .refine((text, reject) =>
    text.length <= MAX && /^[^\s@]+@[^\s@]+$/.test(text)
      ? text
      : reject('must be an e-mail address'),
  )
