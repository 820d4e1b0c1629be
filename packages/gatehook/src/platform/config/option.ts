/** The type of an option (§2.6). Its rows are `options.ts` and the other files `*-options.ts`. */
import type * as kind from './values.ts'

export interface Option<T = unknown> {
  readonly env: string
  readonly kind: kind.ValueKind<T>
  /** The default as text; null: the value is null if the option is not set. */
  readonly fallback: string | null
  /** Describes the default in the reference, if `fallback` cannot. */
  readonly otherwise?: string
  /** Secrets have no flag: any process on the machine can read another's arguments. */
  readonly secret?: true
  /** Whether nodes of one installation may have different values. */
  readonly perNode?: true
  readonly sentence: string
}

/** Preserves the literal type of `fallback`, which determines whether the value can be null. */
export const option = <T, const O extends Option<T>>(row: O & { kind: kind.ValueKind<T> }): O => row
