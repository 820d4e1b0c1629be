/** The e-mail address of a person in the engine's bodies; its domain may have one label. */
import { b, type Member } from './members.ts'

const MAX = 254 // RFC 5321 §4.5.3.1.3, less the angle brackets

export const emailAddress: Member<string> = b
  .matching(/^[^\s@]+@[^\s@]+$/, 'an e-mail address', { max: MAX })
  .example('ada@example.com')
