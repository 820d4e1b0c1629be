/** The state of an object in words, as the engine declares it. Pure. */
import type { RowColumn, StateRule } from './row-column.ts'
import { type ListedObject, rowColumns } from './row-columns.ts'
import { capitalized, isNone, valueAt } from './row-value.ts'

type StateWords = readonly [tone: StateRule[1][string][0], word: string]

const isEmpty = (value: unknown): boolean => !value || isNone(value)

/** Returns the tone and the word of the first rule that has one. */
export function stateBy(rules: readonly StateRule[], row: object): StateWords {
  for (const [path, words, when] of rules) {
    if (when !== undefined && isEmpty(valueAt(row, when))) continue
    const value = valueAt(row, path)
    const state = words[String(value)] ?? (isEmpty(value) ? undefined : words['*'])
    if (!state) continue
    const [tone, word = String(value).replaceAll('_', ' ')] = state
    return [tone, capitalized(word.replace(/\{([\w.]+)\}/g, (_, name) => `${valueAt(row, name)}`))]
  }
  return ['idle', '–']
}

/** Returns the tone and the word of an object's state. */
export function stateOf(object: ListedObject, row: object): StateWords {
  const columns: readonly RowColumn[] = rowColumns[object]
  return stateBy(columns.find(({ states }) => states)?.states ?? [], row)
}
