/** Personal values in objects whose members no declaration describes (§18.11). Pure. */
import type { PersonPlace } from '../../declare/resources/person-rows.ts'
import type { PersonValues } from './person-values.ts'

/** Returns what replaces a value, in the form that a declaration may require of it. */
function erasedForm(value: string | number): string | number {
  if (typeof value === 'number') return 0
  return value.includes('@') ? 'erased@example.invalid' : 'erased'
}

/**
 * Where values count in an object whose members are not declared: everywhere in one that a request
 * of the person caused. A former resource may have had rows of the person: full names count there.
 */
type ValuePlaces = 'everywhere' | 'in full names' | 'nowhere'

export const placesIn = (
  { id }: PersonPlace,
  { subject, collection }: { readonly subject: string | null; readonly collection: string | null },
): ValuePlaces => {
  if (subject === String(id)) return 'everywhere'
  return collection === null ? 'nowhere' : 'in full names'
}

/**
 * Replaces the values in an object whose members are not declared. They count everywhere if it has
 * an address by which the person alone signs in. A person chooses its other values: an object of
 * others may have them as a status, an id or a name.
 */
export function withoutValues(text: string, values: PersonValues, places: ValuePlaces): string {
  if (!values.mentions(text)) return text
  const object: unknown = JSON.parse(text)
  const isOfPerson = places === 'everywhere' || values.isMemberOf(object)
  if (!isOfPerson && places === 'nowhere') return text
  const counts = (value: unknown): value is string | number => {
    if (typeof value !== 'string' && typeof value !== 'number') return false
    return isOfPerson ? values.is(value) : /[\s@]/.test(String(value)) && values.isDistinct(value)
  }
  return JSON.stringify(object, (_, value) => (counts(value) ? erasedForm(value) : value))
}

/** Replaces the addresses by which the person signed in. */
export const withoutNames = (text: string, values: PersonValues): string =>
  JSON.stringify(JSON.parse(text), (_, value) =>
    typeof value === 'string' && value.includes('@') && values.isName(value)
      ? erasedForm(value)
      : value,
  )
