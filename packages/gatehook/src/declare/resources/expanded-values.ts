/**
 * Values with the rows to which they refer (§15.9). A row stays JSON text, which is never parsed:
 * a stored value can take 20 times the memory of its text. Pure.
 */
import type { RowId } from '../../kernel/row-id.ts'
import { isPlainObject } from '../../protocol/fields/reading.ts'
import { mapInside } from './inner-references.ts'
import type { InnerRelation } from './relations.ts'

class RowText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Returns a value with rows; the id remains where `textOf` returns no row. */
export function withRows(
  value: unknown,
  { steps, member }: Pick<InnerRelation, 'steps' | 'member'>,
  textOf: (id: RowId) => string | undefined,
): unknown {
  const rowOf = (id: unknown): unknown => {
    const text = textOf(id as RowId)
    return text === undefined ? id : new RowText(text)
  }
  if (member === undefined) return mapInside(value, steps, rowOf)
  return mapInside(value, steps.slice(0, -1), (inner) => {
    if (!isPlainObject(inner)) return inner
    return { ...inner, [member]: rowOf(inner[steps.at(-1)!] ?? null) }
  })
}

/** Returns the JSON text of a value with rows. */
export function textWithRows(value: unknown): string {
  if (value instanceof RowText) return value.text
  if (Array.isArray(value)) return `[${value.map(textWithRows).join()}]`
  if (!isPlainObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${textWithRows(inner)}`,
  )
  return `{${members.join()}}`
}
