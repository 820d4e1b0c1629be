/** Values of declared fields: as cells of a table, as texts of a form, and back to JSON. */
import type { ComponentChildren } from 'preact'
import { slowNow } from '../../clock.ts'
import { count, instant, listTime, number } from '../../format.ts'
import { State } from '../../parts/state.tsx'
import { type ResourceField, STATE_FIELD } from './resource-shapes.ts'

/** Characters of a text in a table. */
const MAX_CELL = 80

/** Returns a list or an object in a few characters; the drawer has the whole value. */
const compositeText = (value: object): string => {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : count(value.length, 'item')
  return Object.keys(value).length === 0 ? '{}' : '{…}'
}

const plainText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

function valueView(field: ResourceField, value: unknown, isShort: boolean): ComponentChildren {
  const { input } = field
  if (value === undefined) return ''
  if (value === null) return <span class="faint">null</span>
  if (input.instant && typeof value === 'string') {
    const local = new Date(value).toLocaleString()
    return (
      <time dateTime={value} title={`${local} here`}>
        {isShort ? listTime(value, slowNow().value) : instant(value)}
      </time>
    )
  }
  const isCount = input.amount && input.json === 'integer'
  if (isShort && typeof value === 'object') return <span class="soft">{compositeText(value)}</span>
  const text = isCount ? number(Number(value)) : plainText(value)
  if (input.amount) return isShort || !field.unit ? text : `${text} ${field.unit}`
  if (field.name === STATE_FIELD) return <State tone="idle">{text}</State>
  return isShort && text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)}…` : text
}

/** Returns a value for a table. */
export const cellOf = (field: ResourceField, value: unknown) => valueView(field, value, true)

/** Returns a value with its full text. */
export const detailOf = (field: ResourceField, value: unknown) => valueView(field, value, false)

/** Returns a value as the text of a CSV file; null and undefined are empty. */
export const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : plainText(value)

/** Whether a value has JSON text: objects, lists, and values of any type. */
export const isJsonText = ({ input }: ResourceField): boolean =>
  !['string', 'integer', 'number', 'boolean'].includes(input.json)
