/** The members of a query, an input or an output in each version, and their conversion. Pure. */
import { Field } from '../../protocol/fields/fields.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { type Change, type ChangeChain, chainChanges, fieldsInVersion } from '../versions/change.ts'
import type { ActionInputForms } from './action.ts'
import {
  type AnyBodyFields,
  type BodyChange,
  BodyFields,
  type OutputMembers,
} from './body-fields.ts'
import { isMedia, type MediaDeclaration } from './media.ts'
import { type AnyResource, Resource } from './resource.ts'

/** Members with or without older forms. */
export type DeclaredMembers = OutputMembers | AnyBodyFields

/** The members of a body in one version, and the changes up to the newest. */
export interface BodyForm {
  readonly members: OutputMembers
  readonly chain: ChangeChain
}

/** Returns the members of the newest version; none for a resource, which has its own, or bytes. */
export function newestMembers(
  declared: DeclaredMembers | AnyResource | MediaDeclaration | undefined,
): OutputMembers {
  // A script can declare null, which another check rejects.
  if (!declared || declared instanceof Resource || isMedia(declared)) return {}
  return declared instanceof BodyFields ? declared.members : declared
}

export const bodyChanges = (declared: unknown): readonly BodyChange[] =>
  declared instanceof BodyFields ? declared.changes : []

/** A declaration lacks the conversion that no body of its kind needs. */
const convertNothing = () => ({})

/** Returns the form of members in a version. */
export function bodyFormIn(
  declared: DeclaredMembers | MediaDeclaration | undefined,
  versions: readonly string[],
  version: string,
): BodyForm {
  const changes = bodyChanges(declared).map(
    (change): Change<OutputMembers[string]> => ({
      ...change,
      up: change.up ?? convertNothing,
      down: change.down ?? convertNothing,
    }),
  )
  return {
    members: fieldsInVersion(newestMembers(declared), changes, versions, version),
    chain: chainChanges(changes, versions, version),
  }
}

/** Returns the fields among members. */
export const fieldSpecsOf = (members: OutputMembers): FieldSpecs =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, member]) =>
      member instanceof Field ? [[name, member.spec]] : [],
    ),
  )

/** Returns the body of an action as `fields({…}).before(…)` declares it. */
export function declaredInput({ input, inputChanges }: ActionInputForms): AnyBodyFields {
  const fieldsOf = (specs: FieldSpecs) =>
    Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, new Field(spec)]))
  const changes = inputChanges.map((change) => ({ ...change, had: fieldsOf(change.had) }))
  return new BodyFields(fieldsOf(input), changes)
}

/** Returns the fields of every version, for rules that hold in each. */
export const specsOfEveryVersion = (
  declared: DeclaredMembers | AnyResource | MediaDeclaration | undefined,
): FieldSpecs[] => [
  fieldSpecsOf(newestMembers(declared)),
  ...bodyChanges(declared).map(({ had }) => fieldSpecsOf(had)),
]
