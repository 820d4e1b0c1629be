/**
 * What the document of an operation does not say about the fields of its form: words, and inputs
 * that are more than a text. By the name of the member; a form adds its own.
 */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { OVERLAPS } from '../overlaps.ts'
import {
  type Draft,
  type DraftValue,
  type FormField,
  type KindName,
  kindOf,
  mistakeIn,
} from './draft.ts'
import type { BodyMember } from './operation-body.ts'

export interface InputProps {
  readonly field: NamedField
  readonly value: DraftValue
  readonly draft: Draft
  readonly onChange: (value: DraftValue) => void
  readonly error: string | undefined
  /** Returns the server's message on a part of the value: `/0/match`. */
  readonly messageOf: (pointer: string) => string | undefined
  readonly isFirst: boolean
}

interface Items {
  /** The name of an object: `rule`. */
  readonly noun: string
  readonly words: Words
  /** Returns the first values of a new object. */
  readonly values: () => object
}

interface FieldWords {
  /** Default: the name of the member. */
  readonly label?: string
  /** Default: the description of the document; null: none. */
  readonly hint?: ComponentChildren
  readonly placeholder?: string | undefined
  readonly type?: 'email' | 'url'
  readonly required?: boolean
  /** Lines of a text area. */
  readonly rows?: number | undefined
  /** Default: that of the schema. */
  readonly kind?: KindName
  /** Returns the JSON of a text that is not empty. Default: that of the kind. */
  readonly toJson?: (text: string) => unknown
  /** The labels of values. */
  readonly choices?: Readonly<Record<string, string>>
  /** The choices of a select. Default: the values of the schema. */
  readonly options?:
    | ((value: string) => readonly (readonly [value: string, label: string])[])
    | undefined
  /** Whether a set can have a value. Default: every one. */
  readonly permits?: (value: string, draft: Draft) => boolean
  /** Returns the server's message in the words of the field. */
  readonly messageOf?: (message: string, draft: Draft) => string
  /** Says that the content has no JSON. Default: that of the kind. */
  readonly mistake?: string
  readonly input?: FunctionComponent<InputProps> | undefined
  /** Returns the values of other fields that a value of this one selects. */
  readonly sets?: (value: DraftValue) => object
  /** The objects of a list. */
  readonly items?: Items
  /** Whether the form has the field. Default: always. */
  readonly fits?: (draft: Draft) => boolean
  /** The code of the response after which the form has the field. */
  readonly after?: string
}

export type Words = Readonly<Record<string, FieldWords>>

export interface NamedField extends FormField, Omit<FieldWords, 'kind' | 'required'> {
  readonly label: string
  readonly fields?: readonly NamedField[]
}

const URL_FIELD = { type: 'url', placeholder: 'https://' } as const

const DATE_WORDS = 'must be a date such as 2027-04-13, with or without a time such as 09:00'

const ofKind: Partial<Readonly<Record<KindName, FieldWords>>> = {
  instant: {
    hint: null,
    placeholder: '2027-04-13',
    messageOf: (message) => (message.includes('ISO 8601') ? DATE_WORDS : message),
  },
  rate: { hint: null, placeholder: '600/60' },
}

const common: Words = {
  url: { label: 'URL', ...URL_FIELD },
  migration_guide: { hint: null, ...URL_FIELD },
  name: { hint: null },
  email: { label: 'E-mail address', type: 'email', hint: null },
  cidrs: {
    label: 'Addresses',
    hint: 'Addresses or ranges that may use the key. Empty: every address.',
    placeholder: '203.0.113.0/24',
  },
  api_version: { label: 'Version', hint: null },
  overlap_seconds: { label: 'The old secret', hint: null, options: () => OVERLAPS },
  scopes: { kind: 'set' },
}

/** Returns `External id` for `external_id`. */
export const labelOf = (name: string): string =>
  `${name[0]!.toUpperCase()}${name.slice(1)}`.replaceAll('_', ' ')

function fieldOf(member: BodyMember, shared: Words, own: Words): NamedField {
  const { name, describe, members = [] } = member
  const words = { ...common[name], ...shared[name], ...own[name] }
  const kind = words.kind ?? (words.items ? 'items' : kindOf(member))
  const fields = words.items && fieldsOf(members, shared, words.items.words)
  const derived = { ...member, label: labelOf(name), hint: describe, ...ofKind[kind] }
  return { ...derived, ...words, kind, ...(fields && { fields }) }
}

/** Returns members with their words, those of the form first. Others are below those with words. */
export function fieldsOf(
  members: readonly BodyMember[],
  shared: Words,
  own: Words,
): readonly NamedField[] {
  const order = [...new Set([...Object.keys(own), ...members.map(({ name }) => name)])]
  const fields = members.map((member) => fieldOf(member, shared, own))
  return fields.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
}

/** Returns why the content of a field is rejected: it has no JSON, or the server's message. */
export function errorIn(
  field: NamedField,
  draft: Draft,
  message: string | undefined,
): string | undefined {
  if (mistakeIn(field, draft) !== undefined) return field.mistake ?? mistakeIn(field, draft)
  return message && (field.messageOf?.(message, draft) ?? message)
}
