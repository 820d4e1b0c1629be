/**
 * `failure('amount_exceeds_due', { status: 409, … })`: a failure of the team's own, with its code
 * and the members of its `details` (§15.5). Contains no request.
 */
import { type AnyCode, Failure, failures, type OwnCode } from '../../kernel/failure.ts'
import { mistakes as mistakeCodes } from '../../kernel/mistakes.ts'
import { findUnknownMembers, reportMistakes } from '../../protocol/fields/declaration-mistakes.ts'
import { Field, type Fields } from '../../protocol/fields/fields.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { BodyFields } from './body-fields.ts'
import { type BodyForm, bodyFormIn, fieldSpecsOf } from './body-versions.ts'
import { declaredMembers } from './declared-members.ts'
import {
  type DeclaredFailure,
  type DetailFields,
  type FailureDefinition,
  OWN_STATUSES,
  type OwnStatus,
} from './listed-failures.ts'
import { memberReader } from './own-values.ts'
import type { AnyRow } from './resource.ts'
import { toWire } from './validate.ts'

// biome-ignore lint/suspicious/noExplicitAny: details of any older forms
type Details<M extends Fields> = BodyFields<M, any>

export interface FailureDeclaration<M extends Fields> {
  readonly status: OwnStatus
  /** The sentence for the caller, unless `throw` has another. */
  readonly message: string
  /** The members of `details` in the body: `fields({ due: f.int() })`. */
  readonly details?: Details<M>
}

/** A failure of the team. `in` converts its details. */
export class OwnFailure extends Failure {
  /** Returns the failure with the details of a version. */
  readonly in: (version: string) => Failure

  constructor(definition: FailureDefinition, { message, errors, details }: AnyRow) {
    const { code, status, message: title, details: declared } = definition
    const source = `failure ${code}: details`
    const values = declared && memberReader(fieldSpecsOf(declared.members))(source, details ?? {})
    const own = { status, title }
    const detailsIn = (version: string | undefined) =>
      declared && values && { details: detailsOf(declared, values, version) }
    const listed = errors && { errors: errors.map(withCode) }
    const sentence = message ?? title
    super(code, sentence, { own, ...listed, ...detailsIn(undefined) })
    this.in = (version) => new Failure(code, sentence, { ...this.options, ...detailsIn(version) })
  }
}

const withCode = ({ code, ...error }: { code: AnyCode | { code: AnyCode } }) => ({
  ...error,
  code: typeof code === 'string' ? code : code.code,
})

/** Returns details as JSON in a version, by default the newest. */
function detailsOf(declared: DetailFields, values: AnyRow, version: string | undefined): AnyRow {
  if (version === undefined) return toWire(fieldSpecsOf(declared.members), values)
  const { members, chain } = detailForm(declared, version)
  return toWire(fieldSpecsOf(members), chain.down(values))
}

/** Returns the fields of details in a version. */
export const detailSpecs = (declared: DetailFields, version: string): FieldSpecs =>
  fieldSpecsOf(detailForm(declared, version).members)

/** A failure knows no other versions than those of its changes, which are whole majors. */
function detailForm(declared: DetailFields, version: string): BodyForm {
  const names = [version, ...declared.changes.map((change) => change.version)]
  const versions = [...new Set(names)].sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)))
  return bodyFormIn(declared as Details<Fields>, versions, version)
}

/**
 * Declares a failure. Its code is the member `error` of the body, beside `message` and `details`.
 *
 * @example
 * const exceeded = failure('amount_exceeds_due', {
 *   status: 409,
 *   message: 'The amount exceeds the open balance.',
 *   details: fields({ due: f.int() }),
 * })
 */
// biome-ignore lint/complexity/noBannedTypes: a failure without details has no fields
export function failure<const C extends string, const M extends Fields = {}>(
  code: C,
  declaration: FailureDeclaration<M>,
): DeclaredFailure<C, M> {
  const { status, message, details } = (declaration ?? {}) as Partial<FailureDeclaration<Fields>>
  const mistakes = findFailureMistakes(code, declaration)
  reportMistakes(mistakes.map((mistake) => `failure ${String(code)}: ${mistake}`))
  const definition: FailureDefinition = {
    code: code as unknown as OwnCode,
    status: status ?? 409,
    message: String(message),
    details: details instanceof BodyFields ? details : undefined,
  }
  const create = (parts: AnyRow = {}) => new OwnFailure(definition, parts)
  return Object.assign(create, { code: code as C & OwnCode, definition })
}

function findFailureMistakes(code: unknown, declaration: unknown): string[] {
  const { status, message, details } = (declaration ?? {}) as Record<string, unknown>
  const name = String(code)
  const isTaken = Object.hasOwn(failures, name) || Object.hasOwn(mistakeCodes, name)
  const sentences = [
    (typeof code !== 'string' || !/^[a-z][a-z0-9_]{0,62}$/.test(code)) &&
      'codes look like amount_exceeds_due',
    isTaken && `the engine has this code: throw new Failure('${name}'), or choose another`,
    !OWN_STATUSES.some((own) => own === status) && `status is one of ${OWN_STATUSES.join(', ')}`,
    (typeof message !== 'string' || message === '') && 'message is a sentence for the caller',
    details !== undefined &&
      !isFields(details) &&
      'details is fields({…}) of fields: fields({ due: f.int() })',
  ].filter((sentence) => sentence !== false)
  return [...findUnknownMembers(declaration, declaredMembers.failure), ...sentences]
}

const isFields = (details: unknown): boolean =>
  details instanceof BodyFields &&
  [details.members, ...details.changes.map(({ had }) => had)].every((members) =>
    Object.values(members).every((member) => member instanceof Field),
  )
