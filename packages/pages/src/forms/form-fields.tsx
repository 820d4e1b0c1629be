/** The fields of a form: the input of each follows from its kind. */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { Button } from '../parts/button.tsx'
import { Check, Field } from '../parts/field.tsx'
import { type Draft, type DraftValue, draftOf, type KindName } from './draft.ts'
import { errorIn, type InputProps, labelOf, type NamedField } from './field-words.ts'
import type { FormState } from './form.ts'

/** A longer text has a text area. */
const LINE_MAX = 2048

const rowsOf = ({ kind, max = 0 }: NamedField): number | undefined =>
  kind === 'json' ? 4 : kind === 'text' && max > LINE_MAX ? 8 : undefined

/** Returns the choices of a select; undefined for a text. */
function optionsOf({ values, choices, options, nullable }: NamedField, value: string) {
  if (options || !values) return options?.(value)
  const own = values.map((each) => [each, choices?.[each] ?? each] as const)
  return nullable || value === '' ? [['', 'Default'] as const, ...own] : own
}

function TextInput({ field, value, onChange, error, isFirst }: InputProps) {
  const { label, format, hint, kind, max, placeholder, required, rows = rowsOf(field) } = field
  const options = optionsOf(field, value as string)
  const isPassword = format === 'password'
  return (
    <Field
      label={label}
      value={value as string}
      onInput={onChange}
      hint={hint}
      error={error}
      type={isPassword ? 'password' : (field.type ?? 'text')}
      autocomplete={isPassword ? 'new-password' : 'off'}
      autofocus={isFirst && !options}
      required={required}
      {...(placeholder && { placeholder })}
      {...(kind === 'text' && max && { maxLength: max })}
      {...(kind === 'number' && { inputMode: 'numeric' as const })}
      {...(options && { options })}
      {...(rows && { rows })}
    />
  )
}

const FlagInput = ({ field: { label, hint }, value, onChange }: InputProps) => (
  <>
    <Check label={label} checked={value === true} onChange={onChange} />
    {hint && <p class="hint">{hint}</p>}
  </>
)

interface ChecksProps {
  readonly values: readonly (readonly [value: string, label: ComponentChildren])[]
  readonly selected: ReadonlySet<string>
  readonly onChange: (selected: ReadonlySet<string>) => void
}

export const Checks = ({ values, selected, onChange }: ChecksProps) => (
  <>
    {values.map(([value, label]) => (
      <Check
        key={value}
        label={label}
        checked={selected.has(value)}
        onChange={(isIn) =>
          onChange(new Set(isIn ? [...selected, value] : [...selected].filter((v) => v !== value)))
        }
      />
    ))}
  </>
)

function SetInput({ field, value, draft, onChange, error }: InputProps) {
  const { label, values = [], choices, permits = () => true } = field
  const permitted = values.filter((each) => permits(each, draft))
  return (
    <fieldset>
      <legend class="label">{label}</legend>
      <Checks
        values={permitted.map((each) => [each, choices?.[each] ?? each.replaceAll('_', ' ')])}
        selected={value as ReadonlySet<string>}
        onChange={onChange}
      />
      {error && <p class="err">{error}</p>}
    </fieldset>
  )
}

function ItemsInput({ field, value, onChange, messageOf }: InputProps) {
  const { fields = [], items } = field
  const drafts = value as readonly Draft[]
  const { noun, values } = items!
  return (
    <>
      {drafts.map((draft, at) => (
        <fieldset class="section" key={at}>
          <legend>{`${labelOf(noun)} ${at + 1}`}</legend>
          <FieldList
            fields={fields.map((each) =>
              each.kind === 'set' ? { ...each, label: `${each.label} of ${noun} ${at + 1}` } : each,
            )}
            draft={draft}
            change={(change) => onChange(drafts.with(at, { ...draft, ...change }))}
            messageOf={(pointer) => messageOf(`/${at}${pointer}`)}
          />
          <p>
            <Button size="tiny" kind="quiet" onClick={() => onChange(drafts.toSpliced(at, 1))}>
              {`Remove ${noun} ${at + 1}`}
            </Button>
          </p>
        </fieldset>
      ))}
      <p>
        <Button size="tiny" onClick={() => onChange([...drafts, draftOf(fields, values())])}>
          {`Add a ${noun}`}
        </Button>
      </p>
    </>
  )
}

const INPUTS: Partial<Readonly<Record<KindName, FunctionComponent<InputProps>>>> = {
  flag: FlagInput,
  set: SetInput,
  items: ItemsInput,
}

type FieldListProps = Pick<FormState, 'fields' | 'draft' | 'change' | 'messageOf'> & {
  readonly isFirst?: boolean
}

/** Returns a change of a field, and of the others that its value selects. */
function changeOf({ name, sets }: NamedField, value: DraftValue, fields: readonly NamedField[]) {
  const values = sets?.(value) ?? {}
  const others = fields.filter((field) => field.name in values)
  return { [name]: value, ...draftOf(others, values) }
}

const FieldList = ({ fields, draft, change, messageOf, isFirst }: FieldListProps) => (
  <>
    {fields
      .filter(({ fits }) => fits?.(draft) ?? true)
      .map((field, at) => {
        const { name, kind, input: Input = INPUTS[kind] ?? TextInput } = field
        return (
          <Input
            key={name}
            field={field}
            value={draft[name]!}
            draft={draft}
            onChange={(next) => change(changeOf(field, next, fields))}
            error={errorIn(field, draft, messageOf(`/${name}`))}
            messageOf={(pointer) => messageOf(`/${name}${pointer}`)}
            isFirst={isFirst === true && at === 0}
          />
        )
      })}
  </>
)

interface FormFieldsProps {
  readonly form: FormState
  /** Whether the form is a part of a page, which keeps the focus. */
  readonly isEmbedded?: boolean
}

export const FormFields = ({ form, isEmbedded }: FormFieldsProps) => (
  <FieldList {...form} isFirst={!isEmbedded} />
)
