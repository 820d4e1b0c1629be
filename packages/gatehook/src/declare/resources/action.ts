/** An action of a resource, and its body: the fields of the newest version and their changes. */
import type { FieldSpec, Fields, RowOf } from '../../protocol/fields/fields.ts'
import type { AnyRow, Change } from '../versions/change.ts'
import { specsOf } from './chain-check.ts'
import type { ListedFailure } from './listed-failures.ts'

/** A change of a body. A conversion is undefined if the declaration lacks it. */
export interface BodyConversion<Spec = unknown> extends Omit<Change<Spec>, 'up' | 'down'> {
  readonly up: Change['up'] | undefined
  readonly down: Change['down'] | undefined
}

/** Is `fields({…}).before(…)`, of which an action needs these parts. */
interface VersionedFields {
  readonly members: Fields
  readonly changes: readonly BodyConversion[]
}

export type ActionInput = Fields | VersionedFields

/** The values of the body in `run`. */
export type ActionInputOf<I> = I extends {
  readonly members: infer M extends Fields
} & VersionedFields
  ? RowOf<M>
  : I extends Fields
    ? RowOf<I>
    : never

export interface ActionInputForms {
  /** The fields of the body in the newest version. */
  readonly input: Readonly<Record<string, FieldSpec>>
  /** The changes between versions, newest first. */
  readonly inputChanges: readonly BodyConversion<FieldSpec>[]
}

export interface ActionDefinition extends ActionInputForms {
  readonly name: string
  readonly scope: string
  readonly from: readonly string[] | undefined
  readonly to: string | undefined
  readonly emits: string | undefined
  readonly failures: readonly ListedFailure[]
  readonly run:
    | ((args: { row: AnyRow; input: AnyRow; now: number }) => AnyRow | undefined)
    | undefined
  readonly mcp?: boolean | undefined
}

/** Reads the option. Throws `DeclarationError`. */
export function readActionInput(input: ActionInput = {}): ActionInputForms {
  if (!isVersioned(input)) return { input: specsOf(input), inputChanges: [] }
  const inputChanges = input.changes.map((change) => ({
    ...change,
    had: specsOf(change.had as Fields),
  }))
  return { input: specsOf(input.members), inputChanges }
}

/** A field of the name `changes` is no array. */
const isVersioned = (input: ActionInput): input is VersionedFields => Array.isArray(input.changes)
