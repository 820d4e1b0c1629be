/** The content of a form, as texts, flags and sets; and its conversion from and to JSON. */
import { matchText, parseMatch } from './claim-lines.ts'
import type { BodyMember } from './operation-body.ts'

export type DraftValue = string | boolean | ReadonlySet<string> | readonly Draft[]

/** The content of a form by the name of the member. */
export interface Draft {
  readonly [name: string]: DraftValue
}

export type JsonObject = Readonly<Record<string, unknown>>

/** How a form has the JSON of a member. */
interface Kind<V extends DraftValue> {
  /** Returns the content for a value; null and undefined: of an empty field. */
  readonly draftOf: (value: unknown, field: FormField) => V
  /** Returns the JSON; undefined: the field is empty. The server validates it. */
  readonly jsonOf: (draft: V, field: FormField) => unknown
  /** Returns why a text has no JSON. */
  readonly mistakeIn?: (draft: V) => string | undefined
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d))?Z?$/

/** Returns `2027-04-13 09:00` or `2027-04-13` as an instant in UTC; other text stays as it is. */
export function instantOf(text: string): string {
  const [, date, time] = TIME.exec(text.trim()) ?? []
  return date ? `${date}T${time ?? '00:00'}:00Z` : text.trim()
}

/** Returns the text of an instant: `2027-04-13 09:00`, or its date at midnight. */
export const instantText = (iso: string): string =>
  iso.slice(0, 16).replace('T', ' ').replace(' 00:00', '')

const RATE = /^\s*(\d{1,7})\s*\/\s*(\d{1,5})\s*$/

/** A kind whose form is a text; `jsonOf` gets one that is not empty. */
const texts = (
  textOf: (value: never) => string,
  jsonOf: (text: string) => unknown,
  mistakeIn?: (text: string) => string | undefined,
): Kind<string> => ({
  draftOf: (value) => (value === undefined || value === null ? '' : textOf(value as never)),
  jsonOf: (text) => (text === '' ? undefined : jsonOf(text)),
  mistakeIn: (text) => (text === '' ? undefined : mistakeIn?.(text)),
})

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const kinds = {
  text: texts(String, (text) => text),
  number: texts(String, (text) => (/^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text)),
  instant: texts(instantText, instantOf),
  /** A choice of true and false. */
  truth: texts(String, (text) => text === 'true'),
  /** A list of texts without spaces. */
  words: texts(
    (list: readonly string[]) => list.join(' '),
    (text) => text.split(/[\s,]+/).filter(Boolean),
  ),
  /** A number per seconds: `600/60`. */
  rate: texts(
    ({ limit, window_s: windowS }: Readonly<Record<string, number>>) => `${limit}/${windowS}`,
    (text) => {
      const [, limit, windowS] = RATE.exec(text) ?? []
      return limit && { limit: Number(limit), window_s: Number(windowS) }
    },
    (text) => (RATE.test(text) ? undefined : 'It must be a number per seconds: 600/60.'),
  ),
  json: texts(
    (value) => JSON.stringify(value, null, 2),
    (text) => parseJson(text)?.value,
    (text) => (parseJson(text) ? undefined : 'It must be JSON.'),
  ),
  /** Claims of a token, one per line. */
  claims: texts(matchText, parseMatch),
  /** True, or the only value of an enumeration. */
  flag: {
    draftOf: (value, { values: [on = true] = [] }) => value === on,
    jsonOf: (isOn, { values: [on = true] = [] }) => (isOn ? on : undefined),
  } satisfies Kind<boolean>,
  set: {
    draftOf: (value) => new Set((value ?? []) as readonly string[]),
    jsonOf: (set) => (set.size === 0 ? undefined : [...set]),
  } satisfies Kind<ReadonlySet<string>>,
  /** A list of objects. */
  items: {
    draftOf: (list, { fields = [] }) =>
      ((list ?? []) as readonly object[]).map((item) => draftOf(fields, item)),
    jsonOf: (items, { fields = [] }) =>
      items.map((item) =>
        Object.fromEntries(fields.map((field) => [field.name, fullJson(field, item)])),
      ),
  } satisfies Kind<readonly Draft[]>,
}

export type KindName = keyof typeof kinds

/** A member of a body in a form. */
export interface FormField extends BodyMember {
  readonly kind: KindName
  /** Returns the JSON of a text that is not empty. Default: that of the kind. */
  readonly toJson?: (text: string) => unknown
  /** Whether the form has the field. Default: always. */
  readonly fits?: (draft: Draft) => boolean
  /** Whether a change of an object is a merge patch (RFC 7396). */
  readonly isMerged?: boolean
  /** The fields of the objects of a list. */
  readonly fields?: readonly FormField[]
  /** Whether no request has it. */
  readonly isLocal?: boolean
}

/** Returns how a form has the JSON of a member. */
export function kindOf({ json, format, values, members }: BodyMember): KindName {
  if (json === 'array') return values ? 'set' : members ? 'json' : 'words'
  if (json === 'boolean') return 'flag'
  if (json === 'integer' || json === 'number') return 'number'
  if (json === 'string') return format === 'date-time' ? 'instant' : 'text'
  return members?.map(({ name }) => name).join() === 'limit,window_s' ? 'rate' : 'json'
}

const kindNamed = (name: KindName) => kinds[name] as Kind<DraftValue>

/** Returns the content of a form for the values of an object. */
export const draftOf = (fields: readonly FormField[], values: object): Draft =>
  Object.fromEntries(
    fields.map((field) => {
      const { name, kind } = field
      return [name, kindNamed(kind).draftOf((values as JsonObject)[name], field)]
    }),
  )

/** Returns why the content of a field has no JSON. */
export const mistakeIn = ({ name, kind }: FormField, draft: Draft): string | undefined =>
  kindNamed(kind).mistakeIn?.(draft[name]!)

const EMPTY: JsonObject = { array: [], object: {}, string: '', boolean: false }

/** Returns the JSON of a field; undefined: it is empty. */
function jsonOf(field: FormField, draft: Draft): unknown {
  const content = draft[field.name]!
  if (field.toJson && content !== '') return field.toJson(content as string)
  return kindNamed(field.kind).jsonOf(content, field)
}

/** Returns the JSON of a field; if it is empty, null or the empty value of its type. */
const fullJson = (field: FormField, draft: Draft): unknown => {
  const json = (field.fits?.(draft) ?? true) ? jsonOf(field, draft) : undefined
  return json ?? (field.nullable ? null : (EMPTY[field.json] ?? null))
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the merge patch from one value to another: removed members are null.
 *
 * @see RFC 7396
 */
function mergePatchOf(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after
  const removed = Object.keys(before).filter((name) => !(name in after))
  const changed = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  return Object.fromEntries([
    ...removed.map((name) => [name, null]),
    ...changed.map((name) => [name, mergePatchOf(before[name], after[name])]),
  ])
}

/** A list is required, and can be empty. */
const isList = ({ kind, required }: FormField): boolean =>
  required && (kind === 'set' || kind === 'words')

/**
 * Returns the body of a request: the members whose content differs from that of the opened form;
 * for a new object also those that are filled.
 */
export function bodyOf(
  fields: readonly FormField[],
  draft: Draft,
  start: Draft,
  isNew: boolean,
): JsonObject {
  const members = fields.flatMap((field) => {
    const { name, isMerged, isLocal } = field
    if (isLocal) return []
    const [before, after] = [jsonOf(field, start), jsonOf(field, draft)]
    const isChanged = JSON.stringify(before) !== JSON.stringify(after)
    if (!isChanged && !(isNew && (after !== undefined || isList(field)))) return []
    const value = fullJson(field, draft)
    return [[name, isMerged ? mergePatchOf(before, value) : value]]
  })
  return Object.fromEntries(members)
}
