/** The columns and facts of an object in a terminal: ids first, long texts last. Pure. */
import { isoTime } from '../kernel/time.ts'
import { type ObjectColumn, objectFacts, tableColumns } from '../protocol/fields/columns.ts'
import type { AnyMember } from '../protocol/fields/members.ts'
import type { CellDisplay, StateRule, StateTone } from '../protocol/fields/spec.ts'
import { alarm, dim, green, yellow } from './output.ts'

type Json = Readonly<Record<string, unknown>>

const valueAt = (row: Json, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Json | null)?.[name], row)

const isEmpty = (value: unknown): boolean => !value || (Array.isArray(value) && value.length === 0)

const paintTone: Readonly<Record<StateTone, (text: string) => string>> = {
  ok: green,
  warn: yellow,
  bad: alarm,
  hold: yellow,
  idle: String,
}

/** Returns the state of a row: the word of the first rule that has one. */
function stateText(row: Json, rules: readonly StateRule[]): string {
  for (const [path, words, when] of rules) {
    if (when !== undefined && isEmpty(valueAt(row, when))) continue
    const value = valueAt(row, path)
    const [tone, word] = words[String(value)] ?? (isEmpty(value) ? [] : (words['*'] ?? []))
    if (tone === undefined) continue
    const text = word?.replace(/\{([\w.]+)\}/g, (_, name) => String(valueAt(row, name)))
    return paintTone[tone](text ?? String(value).replaceAll('_', ' '))
  }
  return ''
}

/** Returns a status with its colour; `---` for none. */
export function statusText(status: number | null): string {
  if (status === null) return alarm('---')
  const paint = status >= 500 ? alarm : status >= 400 ? yellow : green
  return paint(String(status))
}

const texts: Partial<Readonly<Record<CellDisplay, (value: never) => string>>> = {
  percent: (share: number) => `${Math.round(share * 1000) / 10} %`,
  status: statusText,
  duration: (ms: number) => `${Math.round(ms)} ms`,
  truth: (value: boolean) => (value ? 'yes' : 'no'),
  seconds: (value: number) => isoTime(value * 1000).replace('.000', ''),
  age: (seconds: number) => `${seconds} s`,
  list: (values: readonly string[]) => values.join(' '),
  count: (values: readonly unknown[]) => String(values.length),
  attempts: (attempts: readonly Json[]) => {
    const { n, status, error } = attempts.at(-1)!
    return `${n}: ${status ?? error}`
  },
  rate: ({ limit, window_s: windowS }: Json) => `${limit} per ${windowS} s`,
  json: (value) => JSON.stringify(value),
  who: ({ kind, name, id }: Json) =>
    [kind, name, id === null ? '' : dim(String(id))].filter(Boolean).join(' '),
}

/** Returns the text of a column of a row. */
function textOf(row: Json, { name, as, none, states }: ObjectColumn): string {
  if (states) return stateText(row, states)
  const value = valueAt(row, name)
  const isNone =
    value === null || value === undefined || (Array.isArray(value) && value.length === 0)
  const text = isNone ? '' : ((as && texts[as]) ?? String)(value as never)
  return text === '' ? dim(none ?? '-') : text
}

const rankOf = ({ as, isWide }: ObjectColumn): number => (as === 'id' ? 0 : isWide ? 2 : 1)

/** Returns the columns with their cells; `cells` replaces some of them by name. */
export const columnsOf = <Row>(
  object: AnyMember,
  cells: Readonly<Record<string, (row: Row) => string>>,
): (readonly [title: string, cell: (row: Row) => string])[] =>
  tableColumns(object)
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map((column) => [
      column.title,
      cells[column.name] ?? ((row: Row) => textOf(row as Json, column)),
    ])

/** Returns a line for each fact of an object that the row has. */
export function factsText(object: AnyMember, row: Json): string {
  const facts = objectFacts(object).map((fact) => [fact.title, textOf(row, fact)] as const)
  const width = Math.max(...facts.map(([title]) => title.length))
  return facts.map(([title, text]) => `${dim(title.padEnd(width))}  ${text}`).join('\n')
}
