/** `f.currency()`: an ISO 4217 code. */
import { declareField, type Field } from '../fields.ts'
import type { FieldKind } from '../kind.ts'
import { createReader, setFinder } from '../reading.ts'
import { textKind } from './text-kind.ts'

const currencies: readonly string[] = Intl.supportedValuesOf('currency')

export const currencyCall = {
  /** An ISO 4217 code, for example `EUR`. */
  currency: (): Field<string, 'required'> => declareField('currency'),
}

export const currency: FieldKind = {
  ...textKind,
  reader: (spec) => createReader(setFinder(spec, currencies)),
  // ISO 4217, and Node's copy of it, change without notice: callers must expect new codes (§8.11).
  schema: () => ({ type: 'string', enum: currencies, 'x-open-set': true }),
  isUnordered: true,
  hasFreeDefault: true,
  sample: () => 'EUR',
  bounds: () => ['EUR'],
  words: () => 'An ISO 4217 code.',
  input: { filter: { isList: true } },
}
