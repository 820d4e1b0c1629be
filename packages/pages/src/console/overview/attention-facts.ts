/** The words of a notice, and the facts of the API that they contain. */
import type { ComponentChildren } from 'preact'
import { slowNow } from '../../clock.ts'
import { period } from '../../format.ts'
import type { AttentionRow } from '../attention-list.ts'

export interface Words {
  readonly word: string
  readonly sentence: (row: AttentionRow) => ComponentChildren
  readonly link: (row: AttentionRow) => readonly [label: string, href: string]
  /** A request of an administrator that ends the state. */
  readonly remedy?: { readonly label: string; readonly path: string; readonly done: string }
}

export const fact = ({ facts }: AttentionRow, name: string): number =>
  typeof facts[name] === 'number' ? facts[name] : 0
export const textFact = ({ facts }: AttentionRow, name: string): string | undefined =>
  typeof facts[name] === 'string' ? facts[name] : undefined

export const listFact = ({ facts }: AttentionRow, name: string): string =>
  Array.isArray(facts[name]) ? facts[name].join(', ') : ''

export const sinceOf = ({ since }: AttentionRow): string =>
  period(slowNow().value - Date.parse(since))

export const untilOf = (row: AttentionRow, name: string): string =>
  period(Date.parse(textFact(row, name) ?? row.since) - slowNow().value)

export const isPast = (row: AttentionRow, name: string): boolean =>
  Date.parse(textFact(row, name) ?? row.since) <= slowNow().value
