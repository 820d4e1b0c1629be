/** The fields of a body as a form: to create or edit a row, and for the input of an action. */
import type { ComponentChildren } from 'preact'
import { Field } from '../../parts/field.tsx'
import { href } from '../../router.ts'
import { formTextOf, isJsonText, jsonOf, mergePatchOf, mistakeIn, textOf } from './field-value.tsx'
import type { DataRow, ResourceField } from './resource-shapes.ts'

/** The texts of a form by the name of the field. */
export type FormTexts = Readonly<Record<string, string>>

/** A longer text has a text area. */
const LINE_MAX = 255

/** Returns the texts of a row, or of a new one. */
export const textsOf = (fields: readonly ResourceField[], row?: DataRow): FormTexts =>
  Object.fromEntries(
    fields.map((field) => [field.name, row ? formTextOf(field, row[field.name]) : '']),
  )

/** Returns the body of a new row. A field that is left empty has its default. */
export function bodyOf(fields: readonly ResourceField[], texts: FormTexts): object {
  const filled = fields.filter(({ name }) => texts[name] !== '')
  return Object.fromEntries(filled.map((field) => [field.name, jsonOf(field, texts[field.name]!)]))
}

/** Returns the merge patch of the fields whose text differs from that of the row. */
export function patchOf(fields: readonly ResourceField[], texts: FormTexts, row: DataRow): object {
  const changed = fields.filter((field) => texts[field.name] !== formTextOf(field, row[field.name]))
  return Object.fromEntries(
    changed.map((field) => {
      const { name } = field
      return [name, mergePatchOf(row[name], jsonOf(field, texts[name]!))]
    }),
  )
}

/** Whether each text is a value of its field's kind. */
export const isFormReady = (fields: readonly ResourceField[], texts: FormTexts): boolean =>
  fields.every((field) => mistakeIn(field, texts[field.name] ?? '') === undefined)

interface RowFieldsProps {
  readonly fields: readonly ResourceField[]
  readonly texts: FormTexts
  readonly onChange: (texts: FormTexts) => void
  readonly messageOf: (pointer: string) => string | undefined
  /** A new row: an omitted field has its default. */
  readonly isNew: boolean
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

function hintOf(field: ResourceField, isNew: boolean): ComponentChildren {
  const { describe, of, nullable, required, unit, input, write_only: isWriteOnly } = field
  const words = [
    describe,
    unit && `In ${unit}.`,
    input.hint,
    isJsonText(field) && 'JSON.',
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

export const RowFields = ({ fields, texts, onChange, messageOf, isNew }: RowFieldsProps) => (
  <>
    {fields.map((field, n) => {
      const { name, max, required, input } = field
      const options = optionsOf(field, isNew)
      const error = mistakeIn(field, texts[name] ?? '') ?? messageOf(`/${name}`)
      const hint = hintOf(field, isNew)
      const isLong = isJsonText(field) || (input.free_text && max !== null && max > LINE_MAX)
      return (
        <Field
          key={name}
          label={name}
          name={`field-${name}`}
          value={texts[name] ?? ''}
          onInput={(text) => onChange({ ...texts, [name]: text })}
          autocomplete="off"
          autofocus={n === 0}
          error={error}
          required={isNew && required}
          {...(hint && { hint })}
          {...(options && { options })}
          {...(isLong && { rows: 3 })}
          {...(isNew && !options && !required && { placeholder: emptyWord(field) })}
          {...(input.json === 'integer' && { inputMode: 'numeric' as const })}
        />
      )
    })}
  </>
)
