/** An action of a resource, and its body: the fields of the newest version and their changes. */
import type { CreateOf, FieldSpec, Fields, RowOf } from '../../protocol/fields/fields.ts'
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

/** The values that `tx.act` takes. */
export type ActionCreateOf<I> = I extends {
  readonly members: infer M extends Fields
} & VersionedFields
  ? CreateOf<M>
  : I extends Fields
    ? CreateOf<I>
    : never

export interface ActionInputForms {
  /** The fields of the body in the newest version. */
  readonly input: Readonly<Record<string, FieldSpec>>
  /** The changes between versions, newest first. */
  readonly inputChanges: readonly BodyConversion<FieldSpec>[]
}

export interface ActionDefinition extends ActionInputForms {
  readonly name: string
  /** `false`: it has no endpoint. */
  readonly scope: string | false
  readonly from: readonly string[] | undefined
  readonly to: string | undefined
  readonly emits: string | undefined
  readonly failures: readonly ListedFailure[]
  readonly run: ((args: AnyRow) => AnyRow | undefined) | undefined
  readonly mcp?: boolean | undefined
}

/** An action that has an endpoint. */
export interface EndpointAction extends ActionDefinition {
  readonly scope: string
}

/** Returns the actions that have an endpoint; own code alone runs the others. */
export const endpointActions = ({
  actions,
}: {
  readonly actions: readonly ActionDefinition[]
}): EndpointAction[] => actions.filter((action): action is EndpointAction => action.scope !== false)

/** Returns the field that actions alone change, if one of them leads to a state. */
export const stateFieldOf = ({
  actions,
}: {
  readonly actions: readonly ActionDefinition[]
}): string | undefined => (actions.some(({ to }) => to !== undefined) ? 'status' : undefined)

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
