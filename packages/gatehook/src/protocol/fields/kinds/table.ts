/** The table of kinds. A new kind is a file beside this one, with its rows here. */
import type { FieldKind, MemberKind } from '../kind.ts'
import type { MemberSpec } from '../spec.ts'
import { bool, boolCall } from './bool.ts'
import { currency, currencyCall } from './currency.ts'
import { date, dateCall } from './date.ts'
import { decimal, decimalCall } from './decimal.ts'
import { duration, durationCall } from './duration.ts'
import { email, emailCall } from './email.ts'
import { id, idCall } from './id.ts'
import { instant } from './instant.ts'
import { int, intCall } from './int.ts'
import { json, jsonCall } from './json.ts'
import { line } from './line.ts'
import { list, listCall } from './list.ts'
import { map } from './map.ts'
import { metadata, metadataCall } from './metadata.ts'
import { number, numberCall } from './number.ts'
import { object, objectCall } from './object.ts'
import { oneOf, oneOfCall } from './one-of.ts'
import { page } from './page.ts'
import { pattern, patternCall } from './pattern.ts'
import { ref, refCall } from './ref.ts'
import { string, stringCall } from './string.ts'
import { text } from './text.ts'
import { time, timeCall } from './time.ts'
import { timeOfDay, timeOfDayCall } from './time-of-day.ts'
import { url, urlCall } from './url.ts'
import { uuid, uuidCall } from './uuid.ts'

/** The kinds of fields of a declaration. */
export const fieldKinds = {
  id,
  ref,
  string,
  email,
  url,
  currency,
  uuid,
  pattern,
  oneOf,
  int,
  decimal,
  number,
  bool,
  time,
  date,
  timeOfDay,
  duration,
  object,
  list,
  metadata,
  json,
} as const satisfies Readonly<Record<string, FieldKind>>

export type FieldKindName = keyof typeof fieldKinds

/** The calls of `f`, in the order of the reference. */
export const calls = {
  ...idCall,
  ...refCall,
  ...stringCall,
  ...emailCall,
  ...urlCall,
  ...currencyCall,
  ...uuidCall,
  ...patternCall,
  ...oneOfCall,
  ...intCall,
  ...decimalCall,
  ...numberCall,
  ...boolCall,
  ...timeCall,
  ...dateCall,
  ...timeOfDayCall,
  ...durationCall,
  ...objectCall,
  ...listCall,
  ...metadataCall,
  ...jsonCall,
}

/** The kinds of members; the last ones only the engine's own bodies have. */
const memberKinds: Readonly<Record<string, MemberKind>> = {
  ...fieldKinds,
  line,
  text,
  instant,
  map,
  page,
}

/** Returns the kind of a declared field. */
export const fieldKindOf = ({ kind }: Pick<MemberSpec, 'kind'>): FieldKind =>
  fieldKinds[kind as FieldKindName]

/** Returns the kind of a member of any body. */
export const memberKindOf = ({ kind }: Pick<MemberSpec, 'kind'>): MemberKind => memberKinds[kind]!
