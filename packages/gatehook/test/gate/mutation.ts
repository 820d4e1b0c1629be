/**
 * A change of the reference service's document, with the classification that the gate must give.
 * An edit is data: `[pointer, value]` sets a member, `[pointer]` removes it.
 */
export type Edit = readonly [pointer: string] | readonly [pointer: string, value: unknown]

export interface Mutation {
  readonly name: string
  /** Edits that prepare the older document. */
  readonly first?: readonly Edit[]
  readonly edit: readonly Edit[]
  readonly verdict: 'break' | 'addition' | 'same'
  /** A part of a sentence that the gate reports. */
  readonly says?: string
}

const mutationWith =
  (verdict: Mutation['verdict']) =>
  (name: string, edit: readonly Edit[], says?: string, first?: readonly Edit[]): Mutation => ({
    name,
    edit,
    verdict,
    ...(says !== undefined && { says }),
    ...(first && { first }),
  })
export const breaks = mutationWith('break')
export const adds = mutationWith('addition')
export const same = mutationWith('same')

export const schemas = '/components/schemas'
export const string = { type: 'string' }
export const integer = { type: 'integer' }
