/**
 * The bodies of sign-ups (§4.9) in each version. `/auth` has no versions: a body has the newest
 * form whose fields it fits, so that a page of an older version, and a sign-up whose mail waits
 * for a release, still create an account (§8.8). Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import { createSchema, type FieldSpecs } from '../../protocol/fields/schema.ts'
import { validateConverted } from './caller-terms.ts'
import type { Catalog, CatalogEntry } from './catalog-entry.ts'
import { EVERY_SCOPE } from './field-rights.ts'
import type { AnyRow } from './resource.ts'
import type { VersionShape } from './shape.ts'
import { createValidators, toWire } from './validate.ts'

/** Returns the newest fields that a stranger sets. */
function acceptedNames({ definition: { signsIn } }: CatalogEntry): ReadonlySet<string> {
  return new Set([signsIn!.username, ...(signsIn!.signUp?.fields ?? [])])
}

/** Returns the fields that a stranger sets in a version. */
function signUpSpecs(entry: CatalogEntry, { chain, specs }: VersionShape): FieldSpecs {
  const { fields } = entry.definition
  const accepted = acceptedNames(entry)
  const names = new Set(
    [...accepted].flatMap((name) => {
      const old = chain.oldFieldsOf(name)
      return old.length > 0 ? old : [chain.oldFieldOf(name)]
    }),
  )
  const isOther = (name: string) => {
    const newest = chain.renamed[name] || name
    const writable = fields[newest] && fields[newest].write !== 'never'
    return Boolean(writable) && !accepted.has(newest)
  }
  return Object.fromEntries(
    Object.entries(specs).filter(
      ([name, { write }]) => names.has(name) && write !== 'never' && !isOther(name),
    ),
  )
}

/** A form of the body. */
interface SignUpForm {
  readonly names: ReadonlySet<string>
  /** Returns the values of the row. Throws `validation_failed` in the names of this form. */
  read(body: AnyRow): AnyRow
}

function formOf(entry: CatalogEntry, shape: VersionShape): SignUpForm {
  const specs = signUpSpecs(entry, shape)
  const accepted = acceptedNames(entry)
  const { fields } = entry.definition
  const { create } = entry.rows.newest.as(EVERY_SCOPE).validators
  const names = new Set(Object.keys(specs))
  if (shape.chain.isEmpty) return { names, read: create }
  const validate = createValidators(specs).create
  return {
    names,
    read(body) {
      const row = { ...shape.defaults, ...validate(body) }
      const values = validateConverted(entry, shape, shape.chain.up(row))
      const sent = Object.entries(values).filter(([name]) => accepted.has(name))
      return create(toWire(fields, Object.fromEntries(sent)))
    },
  }
}

interface SignUpForms {
  /** Returns the fields of the newest form that has all of these members, or of the newest. */
  namesFor(members: readonly string[]): ReadonlySet<string>
  /** Returns a body as the values of a row. Throws `validation_failed`. */
  read(body: AnyRow): AnyRow
}

/** Returns the forms of a body, by the resource whose rows sign in. */
export function createSignUpForms(entry: CatalogEntry): SignUpForms {
  const forms = [...entry.shapes.values()].toReversed().map((shape) => formOf(entry, shape))
  const formsFor = (members: readonly string[]): readonly SignUpForm[] => {
    const fitting = forms.filter(({ names }) => members.every((name) => names.has(name)))
    return fitting.length > 0 ? fitting : forms.slice(0, 1)
  }
  return {
    namesFor: (members) => formsFor(members)[0]!.names,
    read(body) {
      const [first, ...older] = formsFor(Object.keys(body))
      try {
        return first!.read(body)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        for (const form of older) {
          try {
            return form.read(body)
          } catch {} // the failure of the newest form is the caller's
        }
        throw error
      }
    },
  }
}

/** Returns the promise of `POST /auth/signup` in a version, as a part of its document (§8.11). */
export function signUpPaths({ service, entries }: Catalog, version: string): object {
  const definition = service.resources.find(({ signsIn }) => signsIn?.signUp)
  if (!definition) return {}
  const entry = entries.get(definition.name)!
  const schema = createSchema(signUpSpecs(entry, entry.shapes.get(version)!))
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  return { '/auth/signup': { post: { security: [], requestBody, responses: { 202: {} } } } }
}
