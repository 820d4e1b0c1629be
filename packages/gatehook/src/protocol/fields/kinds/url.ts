/** `f.url()`: an absolute web URL. */
import { isWebUrl } from '../../../kernel/uri.ts'
import { declareField, type Field } from '../fields.ts'
import { textSchema } from '../json-schema.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, textFinder } from '../reading.ts'
import { textKind } from './text-kind.ts'

const initial = { max: 2048 }
/** `http://` or `https://`; schemes have no case. */
const WEB_URL_START = '^[Hh][Tt][Tt][Pp][Ss]?://'
const WORDS = 'an absolute http or https URL of the characters of a URI'

export const urlCall = {
  /** An absolute http or https URL of the characters of RFC 3986, stored as it was sent. */
  url: (): Field<string, 'required'> => declareField('url', initial),
}

export const url: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(textFinder(spec, WORDS, isWebUrl)),
  schema: (spec) => ({ ...textSchema({ ...spec, format: 'uri' }), pattern: WEB_URL_START }),
  isText: true,
  hasBounds: true,
  initial,
  hasFreeDefault: true,
  sample: () => 'https://example.com/',
  numbered: (_name, n) => `https://example.com/${n}`,
  bounds: ({ max = 20 }) => ['https://a.de/', `https://a.de/${'x'.repeat(Math.max(0, max - 13))}`],
  words: () => 'An absolute http or https URL.',
}
