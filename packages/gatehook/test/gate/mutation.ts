/**
 * Changes of a real document, each with its verdict. An edit is data: `[pointer, value]` sets,
 * `[pointer]` takes away. `first` makes the older document have what the edit changes.
 */
export type Edit = readonly [pointer: string] | readonly [pointer: string, value: unknown]

export interface Mutation {
  readonly name: string
  readonly first?: readonly Edit[]
  readonly edit: readonly Edit[]
  /** `same`: nothing to tell. */
  readonly verdict: 'break' | 'addition' | 'same'
  /** Part of a sentence that is told. */
  readonly says?: string
}

const row =
  (verdict: Mutation['verdict']) =>
  (name: string, edit: readonly Edit[], says?: string, first?: readonly Edit[]): Mutation => ({
    name,
    edit,
    verdict,
    ...(says !== undefined && { says }),
    ...(first && { first }),
  })
export const breaks = row('break')
export const adds = row('addition')
export const same = row('same')

export const schemas = '/components/schemas'
export const text = { type: 'string' }
export const whole = { type: 'integer' }
