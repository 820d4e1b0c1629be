/** The declared fields of a resource as a form: to create or edit a row, and for an action. */
import type { ComponentChildren } from 'preact'
import type { KindName } from '../../forms/draft.ts'
import type { NamedField } from '../../forms/field-words.ts'
import { href } from '../../router.ts'
import { isJsonText, textOf } from './field-value.tsx'
import type { ResourceField } from './resource-shapes.ts'

/** A longer text has a text area. */
const LINE_MAX = 255

const kindOf = (field: ResourceField): KindName => {
  const { json } = field.input
  if (isJsonText(field)) return 'json'
  return json === 'string' ? 'text' : json === 'boolean' ? 'truth' : 'number'
}

function optionsOf(field: ResourceField, isNew: boolean) {
  const values = field.input.json === 'boolean' ? ['true', 'false'] : field.values
  if (!values) return undefined
  const choices = values.map((value) => [value, value] as const)
  const isOpen = isNew || field.nullable || field.write_only
  return isOpen
    ? [['', isNew ? emptyWord(field) : field.nullable ? 'null' : 'unchanged'] as const, ...choices]
    : choices
}

/** The words for the empty text of a field. */
function emptyWord({ required, default: value, nullable }: ResourceField): string {
  if (required) return 'Select one'
  if (value === null || value === undefined) return nullable ? 'null' : 'none'
  return textOf(value)
}

function hintOf(field: ResourceField, kind: KindName, isNew: boolean): ComponentChildren {
  const { describe, of, nullable, required, unit, input, write_only: isWriteOnly } = field
  const words = [
    describe,
    unit && `In ${unit}.`,
    input.hint,
    kind === 'json' && 'JSON.',
    isNew && !required && 'Optional.',
    isWriteOnly && 'No response returns it.',
    !isNew && isWriteOnly && 'Empty: unchanged.',
    !isNew && nullable && !isWriteOnly && 'Empty: null.',
  ]
  const text = words.filter(Boolean).join(' ')
  if (of === null) return text || undefined
  return (
    <>
      {text} The id of a row of{' '}
      <a href={href(`/console/data/${of}`)} target="_blank" rel="noopener">
        {of}
        <span class="vh">, in a new tab</span>
      </a>
      .
    </>
  )
}

/** Returns the fields of the form of a new row, or of one to change. */
export const formFields = (fields: readonly ResourceField[], isNew: boolean): NamedField[] =>
  fields.map((field) => {
    const { name, max, required, nullable, input } = field
    const kind = kindOf(field)
    const options = optionsOf(field, isNew)
    const isLong = kind === 'json' || (input.free_text && (max ?? 0) > LINE_MAX)
    return {
      name,
      label: name,
      json: input.json,
      kind,
      required: isNew && required,
      nullable,
      isMerged: !isNew,
      hint: hintOf(field, kind, isNew),
      options: options && (() => options),
      placeholder: isNew && !options && !required ? emptyWord(field) : undefined,
      rows: isLong ? 3 : undefined,
    }
  })
