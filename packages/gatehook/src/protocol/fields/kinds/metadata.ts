/** `f.metadata()`: texts of the client by key. */
import { Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { entriesOf, isPlainObject, pointerPart } from '../reading.ts'
import { jsonForm, jsonKind } from './json-kind.ts'
import { createMapReader } from './map.ts'

const KEYS_MAX = 50
const VALUE_MAX = 500
const METADATA_KEY = /^[A-Za-z0-9_.-]{1,40}$/

export const metadataCall = {
  /**
   * At most 50 texts of the client by key, `{}` by default. A key has 1 to 40 of A-Z, a-z, 0-9,
   * `_`, `.` and `-`, a text at most 500 characters. A patch adds and changes keys, and removes
   * those that are null.
   */
  metadata: (): Field<Readonly<Record<string, string>>, 'optional'> =>
    new Field({
      kind: 'metadata',
      write: 'optional',
      nullable: false,
      default: {},
      max: KEYS_MAX,
      items: { kind: 'string', write: 'required', nullable: false, max: VALUE_MAX },
    }),
}

export const metadata: FieldKind = {
  ...jsonKind,
  reader({ items, max = 0, nullable }, inside) {
    const read = createMapReader(inside(items!), nullable)
    return (value, pointer, report) => {
      const names = isPlainObject(value) ? Object.keys(value) : []
      if (names.length > max)
        return report(pointer, 'too_long', `must have at most ${entriesOf(max)}`)
      for (const name of names.filter((name) => !METADATA_KEY.test(name))) {
        const message = 'has a key that is not 1 to 40 of A-Z, a-z, 0-9, _, . and -'
        report(`${pointer}/${pointerPart(name)}`, 'invalid_format', message)
      }
      return read(value, pointer, report)
    }
  },
  schema: ({ items, max }, inside) => ({
    type: 'object',
    additionalProperties: inside.schemaOf(items!),
    propertyNames: { pattern: METADATA_KEY.source },
    maxProperties: max,
  }),
  form: () => jsonForm(),
  patch: (spec) => ({ ...spec, items: { ...spec.items!, nullable: true } }),
  isMap: true,
  hasBounds: true,
  hasBoundsInCall: true,
  sample: () => ({ key: 'value' }),
  bounds: () => [{}, { key: 'value' }],
  words: () => 'Texts of the client by key, at most 50.',
  input: { filter: { pattern: String.raw`^[A-Za-z0-9_.-]{1,40}=[\s\S]+$`, words: 'key=value' } },
}
