/** `f.email()`: an e-mail address. Filters and unique indexes compare folded texts (§4.8). */
import { declareField, type Field } from '../fields.ts'
import { textSchema } from '../json-schema.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { textKind } from './text-kind.ts'

/** RFC 5321 §4.5.3.1.3, less the angle brackets. */
const initial = { max: 254 }

/**
 * Unquoted addresses of RFC 5321, with the characters beyond ASCII of RFC 6531. Format characters
 * are invisible or reorder text: two addresses would look alike.
 */
const WIDE = '[^\\x00-\\x9f\\s\\p{Cf}\\p{Cs}\\p{Cn}]'
const atom = `(?:[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]|${WIDE})+`
const label = `(?:[A-Za-z0-9]|${WIDE})(?:(?:[A-Za-z0-9-]|${WIDE})*(?:[A-Za-z0-9]|${WIDE}))?`
const EMAIL = new RegExp(`^${atom}(?:\\.${atom})*@${label}(?:\\.${label})+$`, 'u')

export const emailCall = {
  /** An e-mail address, compared without case, by NFC and lower case of Unicode (§4.8). */
  email: (): Field<string, 'required'> => declareField('email', initial),
}

export const email: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(textFinder(spec, 'an e-mail address', (text) => EMAIL.test(text))),
  // Addresses may have characters beyond ASCII, which the format `email` excludes.
  schema: (spec) => textSchema({ ...spec, format: 'idn-email' }),
  isFolded: true,
  isText: true,
  hasBounds: true,
  initial,
  hasFreeDefault: true,
  sample: ({ name }) => `${name}@example.com`,
  numbered: (name, n) => `${name}-${n}@example.com`,
  bounds: ({ max = 12 }) => ['a@b.de', `${'x'.repeat(Math.max(0, max - 6))}@b.deu`],
  words: () => 'An e-mail address; upper and lower case of Unicode are equal.',
  format: ['idn-email', 'e-mail'],
}
